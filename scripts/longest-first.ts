import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The longest files, which take 10 to 20 seconds alone. They start first, because a long file at
 * the end leaves the other processors idle. Vitest sorts the rest by size if there is no record of
 * earlier runs.
 */
const LONG = [
  'adapter-postgres/test/contract-deliveries',
  'console/screens',
  'test/start',
  'test/dev',
  'e2e/copy',
  'e2e/streams-elsewhere',
  'console/conversations',
  'console/deliveries',
  'e2e/recoveries',
  'scenarios/failing-receivers',
  'console/finding',
  'test/upkeep',
  'src/acp-runtime',
  'e2e/clock-jump',
  'e2e/rolling-update',
  'test/remote',
  'e2e/postgres',
  'e2e/postgres-kills',
  'adapter-sqlite/test/contract-deliveries',
  'console/widths',
]

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = LONG.findIndex((name) => moduleId.endsWith(`${name}.test.ts`))
  return place === -1 ? LONG.length : place
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}
