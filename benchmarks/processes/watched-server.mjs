// A server with all endpoints that measures how long its event loop stands still. The agent `bench`
// asks with the question in its message. The agent `long` answers with that text, repeated.
import { answer } from './answer.mjs'
import { openService } from './service.mjs'

const { endpoints = ['a2a', 'mcp', 'openai'], ...options } = JSON.parse(process.argv[2])

const agents = {
  asker: ({ message, ask }) => {
    const { question, ...more } = JSON.parse(message)
    return ask(question, more)
  },
  long: ({ message }) => {
    const { part, length } = JSON.parse(message)
    return part.repeat(length / part.length)
  },
}
const { caller, service, projectId } = await openService({
  agents,
  handler: 'asker',
  endpoints,
  console: 'on',
  publicUrl: (own) => own,
  ...options,
})
await service.agents.create({
  projectId,
  name: 'long',
  runtime: { kind: 'function', handler: 'long' },
  desiredState: 'running',
})

let longest = 0
let last = performance.now()
setInterval(() => {
  const now = performance.now()
  longest = Math.max(longest, now - last - 1)
  last = now
}, 1)

answer(caller, {
  /** Returns the longest stop in ms since the last call. */
  longestStop: () => {
    const stop = Math.max(longest, performance.now() - last - 1)
    longest = 0
    return { stop }
  },
})
