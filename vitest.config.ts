import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { LongestFirst } from './scripts/longest-first.js'

const everyLine = { lines: 100, branches: 100 }

/** Tests without servers, programs and real time. `npm run test:unit` runs only these. */
const UNIT = [
  'packages/{core,testing,adapter-http,console}/{src,test}/**/*.test.ts',
  'faults/checker/*.test.ts',
]
const NOT_UNIT = [
  // These wait for a timer, a file or a socket.
  'packages/core/src/messages/{lane,local-signal}.test.ts',
  'packages/core/src/node/*.test.ts',
  'packages/core/src/pacing/steady-clock.test.ts',
  'packages/testing/src/fakes/fake-clock.test.ts',
  'packages/core/test/{agents,lifecycle,streams,supervision}.test.ts',
  // These try many cases, or days of the fake clock.
  'packages/core/test/{adaptive-limit,webhook-health}.test.ts',
  'packages/adapter-http/src/document/document.test.ts',
  'packages/testing/src/{contract/concurrency,memory/contract}.test.ts',
  'packages/adapter-http/src/fuzz.test.ts',
]

/** Files that mock a module or measure the memory of their process. Each has its own process. */
const ALONE = ['packages/runtime-process/src/process-runtime.test.ts']

/** What `npm test` leaves out, by reason. `npm run test:all` and `.ci/run` run everything. */
const LONG = {
  'kill campaigns; crash.test.ts, postgres-kills.test.ts and the simulation are short forms': [
    'faults/*.test.ts',
    'packages/server/test/e2e/{kill-campaign,a2a-kills,ai-sdk-kills,mcp-kills,openai-kills}.test.ts',
  ],
  'a flood of sends; fairness.test.ts is a short form': ['packages/server/test/e2e/flood.test.ts'],
  'the contract again, on storages that contract-*.test.ts nearly cover': [
    'packages/adapter-{sqlite,postgres}/test/contract-again.test.ts',
  ],
  'each screen in a browser; the other files of this folder visit most of them': [
    'packages/server/test/console/screens.test.ts',
  ],
  'a hundred streams over a kill; streams.test.ts and the contract of relays are short forms': [
    'packages/server/test/e2e/streams-elsewhere.test.ts',
  ],
  'updates and rollbacks under load; handover.test.ts is a short form': [
    'packages/server/test/e2e/rolling-update.test.ts',
  ],
  'sends 2,501 messages; seed.test.ts is a short form': ['scripts/seed-all.test.ts'],
  'four processes on PostgreSQL whose log shows each wait': [
    'packages/server/test/e2e/row-waits.test.ts',
  ],
  'hostile networks, which need network namespaces': ['packages/server/test/hostile/*.test.ts'],
  'measures for twenty seconds; core tests the shares': [
    'packages/server/test/e2e/shared-limits.test.ts',
  ],
  'tests of the test tools': [
    'faults/simulation/mutations.test.ts',
    'scripts/left-out-reporter.test.ts',
  ],
  'tools that measure, without a promise of the product': ['benchmarks/bench.test.ts'],
}
const long = Object.values(LONG).flat()

/** As in `unit`, files share their modules. Files that need their own process are in ALONE. */
const real = {
  extends: true,
  test: {
    globalSetup: './scripts/test-setup.ts',
    isolate: false,
    // The tests start the server hundreds of times. Its code is compiled once.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/v8', import.meta.url)) },
  },
} as const

export default defineConfig({
  resolve: { conditions: ['@org/source'] },
  // Tests run in the server pipeline, which does not read the conditions above. Without these
  // conditions, imports between packages would load the last build.
  ssr: { resolve: { conditions: ['@org/source', 'node', 'default'] } },
  test: {
    // For a busy machine. A test of many steps needs its own limit.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    // Tests wait for processes and sockets a third of the time or more.
    maxWorkers: 3 * availableParallelism(),
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './scripts/left-out-reporter.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: UNIT,
          exclude: [...NOT_UNIT, ...ALONE],
          setupFiles: './scripts/unit-guard.ts',
          // The files share their modules, whose loading would take longer than the tests.
          isolate: false,
          pool: 'threads',
        },
      },
      {
        ...real,
        test: {
          ...real.test,
          name: 'real',
          include: [
            ...NOT_UNIT,
            'packages/!(core|testing|adapter-http|console)/{src,test}/**/*.test.ts',
            'examples/*/{src,test}/**/*.test.ts',
            'examples/*/*.test.ts',
            '{benchmarks,scripts}/**/*.test.ts',
            'faults/!(checker)/**/*.test.ts',
          ],
          exclude: [...configDefaults.exclude, ...ALONE, ...long],
        },
      },
      { ...real, test: { ...real.test, name: 'long', include: long } },
      { extends: true, test: { name: 'alone', include: ALONE } },
    ],
    coverage: {
      include: ['packages/*/src/**/*.ts'],
      exclude: ['**/*.test.ts', 'packages/testing/src/contract/**'],
      reporter: [['text', { skipFull: true }], 'html'],
      reportOnFailure: true,
      thresholds: {
        'packages/core/src/domain/**': everyLine,
        'packages/core/src/operations/**': everyLine,
      },
    },
  },
})
