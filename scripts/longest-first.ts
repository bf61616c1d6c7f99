import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The longest files, which take 10 seconds or more alone. They start first, because a long file at
 * the end leaves the other processors idle. Vitest sorts the rest by size if there is no record of
 * earlier runs.
 */
const LONG = [
  'benchmarks/bench',
  'adapter-sqlite/test/contract-again',
  'e2e/kill-campaign',
  'console/screens',
  'console/conversations',
  'test/start',
  'e2e/postgres-kills',
  'adapter-postgres/test/contract-deliveries',
  'src/acp-runtime',
  'e2e/copy',
  'console/deliveries',
  'console/finding',
  'adapter-postgres/src/lease-keeper',
  'e2e/postgres',
  'test/dev',
  'test/remote',
  'test/commands',
  'e2e/cron-mode',
  'e2e/clock-skew',
  'e2e/no-worker',
  'test/upkeep',
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
