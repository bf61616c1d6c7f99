import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that take half a minute or more, mostly because they start processes: without a record of earlier runs, as in a fresh clone, files come by
 * their size, and one of these at the end would leave the other processors idle.
 */
const LONG = [
  'faults/short',
  'test/console/console',
  'test/commands',
  'adapter-postgres/src/contract',
  'benchmarks/bench',
  'faults/simulation/simulation',
  'adapter-sqlite/src/contract',
  'test/send',
  'e2e/postgres',
  'test/upkeep',
  'e2e/crash',
  'test/start',
  'test/dev',
  'hostile/addresses',
  'e2e/session-order',
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
