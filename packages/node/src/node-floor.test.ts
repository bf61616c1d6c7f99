import { nodeProblem } from '@org/agent-messaging-core/node-floor'
import { expect, it } from 'vitest'

it.each(['22.19.0', '22.20.1', '24.0.0', '26.12.1'])('Node %s fits', (version) => {
  expect(nodeProblem(version)).toBeUndefined()
})

it.each(['22.18.9', '21.99.0', '20.20.2', '18.0.0'])('Node %s is too old', (version) => {
  expect(nodeProblem(version)).toBe(
    `Node 22.19 or newer is required, and this is Node ${version}. Install Node 24, for example from https://nodejs.org.`,
  )
})
