// An agent that runs the action in a message, `{"do": "…"}`, and answers others with the run
// itself.
import { spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { createInterface } from 'node:readline'

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)
const answer = (id, response, more = {}) => say({ type: 'answer', id, response, ...more })
const waiting = []
const deaf = []

const actions = {
  chunks: ({ id }) => {
    for (const text of ['one ', 'two ']) say({ type: 'chunk', id, text })
    answer(id, 'one two')
  },
  write: ({ id }, { lines, response }) => {
    for (const { type, ...line } of lines) say({ type, id, ...line })
    answer(id, response)
  },
  ask: ({ id, inputs = [] }, { question }) =>
    inputs[0]
      ? answer(id, JSON.stringify(inputs))
      : say({ type: 'question', id, schema: null, ...question }),
  count: ({ id, sessionState = '0' }) =>
    answer(id, sessionState, { sessionState: String(Number(sessionState) + 1) }),
  fail: ({ id }, { message, retryable, usage }) =>
    say({ type: 'error', id, message, retryable, usage }),
  use: ({ id }, { usage }) => answer(id, 'used', { usage }),
  gather: (run, { until }) => {
    waiting.push(run)
    if (waiting.length === until)
      for (const { id, sessionId } of waiting.splice(0).reverse()) answer(id, sessionId)
  },
  wait: (run) => waiting.push(run),
  deaf: (run) => deaf.push(run),
  undeaf: ({ id }) => {
    for (const run of deaf.splice(0)) answer(run.id, 'too late')
    answer(id, 'late ones first')
  },
  print: ({ id }, { text }) => process.stdout.write(text.replaceAll('$id', id)),
  flood: ({ id }, { text, times }) => {
    for (let n = 0; n < times; n++) process.stdout.write(text)
    process.stdout.write('\n')
    answer(id, 'after the flood')
  },
  exit: (_, { code, words = '', text = '' }) => {
    process.stderr.write(words)
    process.stdout.write(text, () => process.exit(code))
  },
  segfault: () => process.kill(process.pid, 'SIGSEGV'),
  hang: () => {
    process.on('SIGTERM', () => undefined)
    process.stdin.pause()
    for (;;);
  },
  fork: ({ id }) => {
    const forked = spawn(process.execPath, [
      '-e',
      "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up')",
    ])
    forked.stdout.once('data', () => answer(id, `${process.pid} ${forked.pid}`))
  },
  closeInput: ({ id }) => {
    process.stdin.destroy()
    closeSync(0)
    answer(id, 'closed')
    setInterval(() => undefined, 1_000)
  },
  closeOutput: () => {
    closeSync(1)
    setInterval(() => undefined, 1_000)
  },
  environment: ({ id }) => answer(id, JSON.stringify(process.env)),
}

process.on('SIGTERM', () => process.exit(0))
createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  if (message.type === 'ping') say({ type: 'pong' })
  if (message.type === 'cancel') {
    const at = waiting.findIndex(({ id }) => id === message.id)
    if (at !== -1) say({ type: 'error', id: waiting.splice(at, 1)[0].id, message: 'cancelled' })
  }
  if (message.type !== 'run') return
  const { do: action, ...details } = message.message.startsWith('{')
    ? JSON.parse(message.message)
    : {}
  if (action) actions[action](message, details)
  else answer(message.id, JSON.stringify(message))
})
say({ type: 'ready', protocol: 1, ...JSON.parse(process.env.READY ?? '{}') })
