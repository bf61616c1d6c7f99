// An agent as a program of its own, in nothing but Node: it reads what it is to do from stdin, a JSON object a line, and answers on stdout.
import { createInterface } from 'node:readline'

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)
const underWay = new Map() // by the run's id: what ends it

const does = {
  ping: () => say({ type: 'pong' }),
  run: ({ id, message, executionPrincipal, attempt }) => {
    if (message === 'crash' && attempt === 1) crash()
    const thinking = setTimeout(() => {
      underWay.delete(id)
      say({
        type: 'answer',
        id,
        response: `${executionPrincipal.endUserId}, you say "${message}". This is attempt ${attempt}.`,
      })
    }, 50)
    underWay.set(id, thinking)
  },
  cancel: ({ id }) => {
    clearTimeout(underWay.get(id))
    if (underWay.delete(id)) say({ type: 'error', id, message: 'cancelled' })
  },
}

function crash() {
  console.error('this agent has a bug') // Into the log: stdout is for the protocol.
  process.exit(1)
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  does[message.type]?.(message)
})
say({ type: 'ready', protocol: 1 })
