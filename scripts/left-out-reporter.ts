import type {
  Reporter,
  SerializedError,
  TestCase,
  TestModule,
  TestSuite,
  Vitest,
} from 'vitest/node'

/**
 * Prints the skipped tests with their reasons at the end of a run. The last line is
 * `N passed, N failed[, N skipped]`. With CI_STRICT=1, a run that skipped a test has failed.
 */
export default class LeftOutReporter implements Reporter {
  #lines: readonly string[] = []
  #isComplete = true
  #isFiltered = false

  onInit(vitest: Vitest): void {
    this.#isFiltered = vitest.config.testNamePattern !== undefined
    process.once('exit', () => {
      for (const line of this.#lines) console.log(line)
      if (!this.#isComplete && process.env['CI_STRICT'] === '1') process.exitCode = 1
    })
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const inState = (state: string) => tests.filter((test) => test.result().state === state)
    // A file that does not load, a hook that throws and an uncaught error are failures too.
    const groups = modules.flatMap((module) => [module, ...module.children.allSuites()])
    const failed =
      inState('failed').length + groups.filter(hasErrors).length + unhandledErrors.length
    // Ignores tests below such a failure, and tests that the caller's `-t` filtered out.
    const skipped = inState('skipped').filter((test) => !isBelowErrors(test))
    const leftOut = this.#isFiltered ? skipped.filter(isMissingSomething) : skipped
    this.#isComplete = leftOut.length === 0
    const totals = `${inState('passed').length} passed, ${failed} failed`
    this.#lines = [
      ...leftOutLines(leftOut),
      leftOut.length > 0 ? `${totals}, ${leftOut.length} skipped` : totals,
    ]
  }
}

type Group = TestModule | TestSuite
const hasErrors = (group: Group): boolean => group.errors().length > 0
const isBelowErrors = ({ parent }: TestCase | TestSuite): boolean =>
  hasErrors(parent) || (parent.type === 'suite' && isBelowErrors(parent))

const missingOf = (test: TestCase): readonly string[] => test.meta().missing ?? []
const isMissingSomething = (test: TestCase): boolean => missingOf(test).length > 0

function leftOutLines(leftOut: readonly TestCase[]): readonly string[] {
  if (leftOut.length === 0) return []
  const counts = new Map<string, number>()
  for (const test of leftOut) {
    const reason = isMissingSomething(test)
      ? `without ${missingOf(test).join(' and ')}`
      : `without a reason: ${test.fullName}`
    counts.set(reason, (counts.get(reason) ?? 0) + 1)
  }
  const reasons = [...counts].map(
    ([reason, count]) => `  ${count} ${count === 1 ? 'test' : 'tests'} ${reason}`,
  )
  return ['Skipped (`.ci/run` installs the missing programs):', ...reasons]
}
