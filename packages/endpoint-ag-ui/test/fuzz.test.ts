import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openScene } from './scene.js'

const any = fc.jsonValue()
const part = fc.oneof(
  any,
  fc.record({ type: fc.constantFrom('text', 'image', 'document'), text: any, source: any }),
)
const message = fc.oneof(
  any,
  fc.record(
    {
      id: any,
      role: fc.constantFrom<unknown>('user', 'assistant', 'tool', '__proto__', 1),
      content: fc.oneof(any, fc.string({ unit: 'binary' }), fc.array(part)),
    },
    { requiredKeys: [] },
  ),
)
const entry = fc.oneof(
  any,
  fc.record({ interruptId: any, status: fc.constantFrom('resolved', 'cancelled'), payload: any }),
)
const bodies = fc.record(
  {
    threadId: fc.oneof(fc.constant('t-1'), any),
    runId: fc.oneof(fc.uuid(), any),
    messages: fc.oneof(any, fc.array(message, { maxLength: 4 })),
    state: any,
    tools: any,
    context: any,
    forwardedProps: any,
    resume: fc.oneof(any, fc.array(entry, { maxLength: 2 })),
    __proto__: any,
  },
  { requiredKeys: [] },
)

it.each(['echo', 'echo/connect', 'echo/stop'])('no body makes %s fail', async (path) => {
  const defects: unknown[] = []
  const { post } = await openScene({}, { onError: (error) => void defects.push(error) })
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const answer = await post(path, body)
      await answer.text()
      expect([200, 400, 404, 422]).toContain(answer.status)
    }),
    { numRuns: 300 },
  )
  expect(defects).toEqual([])
})
