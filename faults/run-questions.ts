// npm run faults:questions -- --store sqlite --kills 1000
import { parseArgs } from 'node:util'
import type { StoreKind } from './harness/store.js'
import { runQuestions } from './questions.js'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    kills: { type: 'string', default: '20' },
    open: { type: 'string', default: '20' },
  },
})
const outcome = await runQuestions({
  store: values.store as StoreKind,
  kills: Number(values.kills),
  open: Number(values.open),
  onKill: (n) => void (n % 50 === 0 && process.stdout.write(`  ${n} kills\n`)),
})
process.stdout.write(`${JSON.stringify(outcome, undefined, 2)}\n`)
const { lostMessages, lostQuestions, doubleAnswers, wrongAnswers, unexpectedExits } = outcome
const broken = lostMessages + lostQuestions + doubleAnswers + wrongAnswers + unexpectedExits.length
process.exitCode = broken === 0 ? 0 : 1
