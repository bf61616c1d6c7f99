import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { AgentFunction } from '@org/agent-messaging-core'
import { openScene, saying, shownAfter } from './scene.js'

const json = fc.jsonValue()
const text = fc.string({ unit: 'binary' })
const id = fc.constantFrom('a', 'b')
const type = <const T extends string>(...types: T[]) => fc.constantFrom(...types)
// An answer with half of a letter fails.
const event = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.record({ type: type('reasoning-delta'), id, text }),
  fc.record({
    type: type('tool-input-start', 'tool-input-available'),
    toolCallId: id,
    toolName: type('tool'),
    input: json,
  }),
  fc.record({ type: type('tool-input-delta'), toolCallId: id, inputTextDelta: text }),
  fc.record({
    type: type('tool-output-available'),
    toolCallId: id,
    output: json,
    preliminary: fc.boolean(),
  }),
  fc.record({ type: type('tool-output-error'), toolCallId: id, errorText: text }),
  fc.record({ type: type('data'), name: id, id, data: json }),
  fc.record({ type: type('start-step', 'finish-step') }),
  fc.object(),
)

it('parts of any kind and order make a stream that a client can read', async () => {
  let emitted: readonly unknown[] = []
  const agent = async function* () {
    yield* emitted
    yield 'End'
  } as AgentFunction
  const { run } = await openScene({ agent })
  let runs = 0
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 30 }), async (given) => {
      emitted = given
      const threadId = `t-${++runs}`
      const live = await run('agent', saying('Hi', { threadId }))
      const stored = shownAfter(await run('agent/connect', { threadId, runId: 'c' })).slice(1)
      const textsOf = (shown: unknown[][]) => shown.map(([, content]) => content).join('')
      const roles = (role: string) => (shown: unknown[][]) => shown.filter((one) => one[0] === role)
      for (const role of ['reasoning', 'assistant'])
        expect(textsOf(roles(role)(shownAfter(live)))).toBe(textsOf(roles(role)(stored)))
    }),
    { numRuns: 100 },
  )
})
