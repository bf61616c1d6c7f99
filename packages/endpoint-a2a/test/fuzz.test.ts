import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openScene } from './scene.js'

const any = fc.jsonValue()
const text = fc.oneof(any, fc.string({ unit: 'binary' }))
const part = fc.oneof(
  any,
  fc.record({ text, raw: any, url: any, data: any, mediaType: any }, { requiredKeys: [] }),
)
const message = fc.oneof(
  any,
  fc.record(
    {
      messageId: fc.oneof(fc.uuid(), text),
      role: fc.constantFrom<unknown>('ROLE_USER', 'ROLE_AGENT', '__proto__', 1, null),
      parts: fc.oneof(fc.array(part, { maxLength: 3 }), fc.constant([{ text: 'Hi' }]), any),
      contextId: text,
      taskId: fc.oneof(fc.uuid(), text),
      metadata: fc.oneof(fc.dictionary(fc.string({ unit: 'binary' }), any), any),
    },
    { requiredKeys: ['role', 'parts'] },
  ),
)
const push = fc.record(
  { id: text, url: text, token: text, authentication: any, taskId: text },
  { requiredKeys: [] },
)
const configuration = fc.oneof(
  any,
  fc.record(
    {
      acceptedOutputModes: any,
      historyLength: any,
      returnImmediately: any,
      taskPushNotificationConfig: fc.oneof(push, any),
    },
    { requiredKeys: [] },
  ),
)
const send = fc.record(
  { message, configuration, metadata: any, tenant: any, __proto__: any },
  { requiredKeys: ['message'] },
)
const task = fc.record(
  { id: fc.oneof(fc.uuid(), text), taskId: text, historyLength: any, pageSize: any, status: any },
  { requiredKeys: [] },
)
const params = fc.oneof(send, task, push, any)
const method = fc.constantFrom(
  'SendMessage',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'GetExtendedAgentCard',
  'constructor',
  '__proto__',
)

const RUNS = { numRuns: 150 }
const INTERNAL = -32603

it('no call of JSON-RPC fails unexpectedly', async () => {
  const { errors, request } = await openScene()
  await fc.assert(
    fc.asyncProperty(method, params, async (name, given) => {
      const body = { jsonrpc: '2.0', id: 1, method: name, params: given }
      const answer = await request('/echo', { body })
      expect(answer.status, answer.text).toBe(200)
      expect(answer.json?.error?.code, answer.text).not.toBe(INTERNAL)
    }),
    RUNS,
  )
  expect(errors).toEqual([])
})

it.each([
  ['/echo/message:send', send],
  ['/echo/message:stream', send],
  ['/echo/tasks/0190a000-0000-7000-8000-000000000000/pushNotificationConfigs', push],
])('no body makes POST %s fail', async (path, bodies) => {
  const { errors, request } = await openScene()
  await fc.assert(
    fc.asyncProperty(fc.oneof<fc.Arbitrary<unknown>[]>(bodies, any), async (body) => {
      const answer = await request(path, { body: JSON.stringify(body) })
      expect([200, 400, 404, 415], answer.text).toContain(answer.status)
    }),
    RUNS,
  )
  expect(errors).toEqual([])
})

it('no query makes the list of tasks fail', async () => {
  const { errors, request } = await openScene()
  const name = fc.constantFrom('pageSize', 'pageToken', 'status', 'contextId', 'historyLength')
  const query = fc.dictionary(
    fc.oneof(name, fc.constantFrom('statusTimestampAfter', '__proto__')),
    fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.integer().map(String)),
  )
  await fc.assert(
    fc.asyncProperty(query, async (fields) => {
      const answer = await request(`/echo/tasks?${String(new URLSearchParams(fields))}`, {
        method: 'GET',
      })
      expect([200, 400], answer.text).toContain(answer.status)
    }),
    RUNS,
  )
  expect(errors).toEqual([])
})
