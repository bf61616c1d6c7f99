import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that take half a minute or more. They start first, because a long file at the end leaves
 * the other processors idle. Vitest sorts the rest by size if there is no record of earlier runs.
 */
const LONG = [
  'faults/short',
  'test/console/console',
  'adapter-postgres/src/contract',
  'benchmarks/bench',
  'faults/simulation/simulation',
  'adapter-sqlite/src/contract',
  'e2e/postgres',
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
