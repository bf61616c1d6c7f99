import { defineConfig } from 'vitest/config'
import { LongestFirst } from './scripts/longest-first.js'

const everyLine = { lines: 100, branches: 100 }

export default defineConfig({
  resolve: { conditions: ['@org/source'] },
  // Tests run in the server pipeline, which does not read the conditions above. Without these
  // conditions, imports between packages would load the last build.
  ssr: { resolve: { conditions: ['@org/source', 'node', 'default'] } },
  test: {
    include: [
      '{packages,examples}/*/{src,test}/**/*.test.ts',
      'examples/*/*.test.ts',
      '{benchmarks,faults,scripts}/**/*.test.ts',
    ],
    globalSetup: './scripts/test-setup.ts',
    testTimeout: 20_000,
    hookTimeout: 30_000,
    maxWorkers: '100%', // many tests wait for a process or a socket
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './scripts/left-out-reporter.ts'],
    coverage: {
      include: ['packages/*/src/**/*.ts'],
      exclude: ['**/*.test.ts', 'packages/core/src/contract/**'],
      reporter: [['text', { skipFull: true }], 'html'],
      reportOnFailure: true,
      thresholds: {
        'packages/core/src/domain/**': everyLine,
        'packages/core/src/operations/**': everyLine,
      },
    },
  },
})
