// An agent as a program without dependencies. Reads requests from stdin, a JSON object per line,
// and writes answers to stdout.
import { createInterface } from 'node:readline'

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)
const timers = new Map() // By the run's id.

const handlers = {
  ping: () => say({ type: 'pong' }),
  run: ({ id, message, executionPrincipal, attempt }) => {
    if (message === 'crash' && attempt === 1) crash()
    const thinking = setTimeout(() => {
      timers.delete(id)
      say({
        type: 'answer',
        id,
        response: `${executionPrincipal.endUserId}, you say "${message}". This is attempt ${attempt}.`,
      })
    }, 50)
    timers.set(id, thinking)
  },
  cancel: ({ id }) => {
    clearTimeout(timers.get(id))
    if (timers.delete(id)) say({ type: 'error', id, message: 'cancelled' })
  },
}

function crash() {
  console.error('this agent has a bug') // stderr goes to the server's log.
  process.exit(1)
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  handlers[message.type]?.(message)
})
say({ type: 'ready', protocol: 1 })
