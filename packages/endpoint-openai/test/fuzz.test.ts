import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openScene } from './scene.js'

const any = fc.jsonValue()
const part = fc.oneof(any, fc.record({ type: fc.constantFrom('text', 'input_text'), text: any }))
const item = fc.oneof(
  any,
  fc.record(
    {
      type: fc.constantFrom<unknown>('message', 'function_call', null),
      role: fc.constantFrom<unknown>('user', 'assistant', 'system', '__proto__', 1),
      content: fc.oneof(any, fc.string({ unit: 'binary' }), fc.array(part)),
    },
    { requiredKeys: [] },
  ),
)
const items = fc.oneof(any, fc.string({ unit: 'binary' }), fc.array(item, { maxLength: 4 }))
const bodies = fc.record(
  {
    model: fc.oneof(fc.constant('echo'), any),
    input: items,
    messages: items,
    instructions: any,
    conversation: any,
    previous_response_id: any,
    metadata: any,
    user: any,
    background: any,
    stream: any,
    tools: any,
    text: any,
    stop: any,
    __proto__: any,
  },
  { requiredKeys: [] },
)

it.each(['/responses', '/chat/completions'])('no body makes %s fail', async (path) => {
  const defects: unknown[] = []
  const { app, key } = await openScene({ onError: (error) => void defects.push(error) })
  const post = async (body: unknown) =>
    app.request(`/openai/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    })
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const answer = await post(body)
      await answer.text()
      expect([200, 400, 404]).toContain(answer.status)
    }),
    { numRuns: 500 },
  )
  expect(defects).toEqual([])
})
