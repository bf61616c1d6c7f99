import { expect, it } from 'vitest'
import { openScene } from '../test/scene.js'

it.each([
  ['/v1/agents', {}, 'name is required; runtime is required'],
  ['/v1/agents', { name: 'a', runtime: {} }, 'runtime.kind is required'],
  ['/v1/agents', { name: 7, runtime: 'x' }, 'name must be a string; runtime must be an object'],
  ['/v1/agents/a/messages', {}, 'sessionId is required; message is required'],
  ['/v1/webhooks', {}, 'url is required; events is required'],
  [
    '/v1/webhooks',
    { url: 7, events: '*' },
    'url must be a string; events must be an array of event names',
  ],
  ['/v1/keys', {}, 'name is required; permissions is required'],
  ['/v1/keys', [], 'body must be a JSON object'],
  [
    '/v1/recoveries',
    { state: 'exhausted' },
    'body has unknown fields: state. Known fields: webhookId, event, status, createdAfter, ' +
      'createdBefore, lastAnswer',
  ],
])('POST %s with %j names each problem', async (path, body, message) => {
  const { ask } = await openScene()
  const { status, json } = await ask('POST', path, { body })
  expect([status, json.error.message]).toEqual([400, message])
})

it.each(['limit=2&limit=3', 'limit=2&limit=2', 'limit=2&limit=x', 'limit=2&limit='])(
  'GET /v1/agents?%s says that the parameter is repeated',
  async (parameters) => {
    const { ask } = await openScene()
    const { status, json } = await ask('GET', `/v1/agents?${parameters}`)
    expect([status, json.error.message]).toEqual([400, 'limit must be given once'])
  },
)
