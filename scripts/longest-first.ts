import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that take 25 seconds or more, the longest first. They start first, because a long file at
 * the end leaves the other processors idle. Vitest sorts the rest by size if there is no record of
 * earlier runs.
 */
const LONG = [
  'benchmarks/bench',
  'faults/short',
  'adapter-postgres/test/contract-deliveries',
  'adapter-sqlite/test/contract-deliveries',
  'e2e/streams-elsewhere',
  'test/console/conversations',
  'test/console/deliveries',
  'test/console/console',
  'hostile/addresses',
  'test/console/screens',
  'test/start',
  'e2e/shared-pause',
  'e2e/session-order',
  'e2e/recoveries',
  'e2e/postgres-kills',
  'scenarios/webhooks',
  'scenarios/failing-receivers',
  'faults/simulation/simulation',
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
