import type { HttpError } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { refuse } from './errors.js'
import type { Env } from './env.js'

const issues = [{ path: 'name', message: 'must be a slug' }]
const s7 = 'endUserId is required when the agent default principal is end_user'

/** These statuses and codes are part of the API (docs/api.md). */
const answers: readonly (readonly [
  error: HttpError,
  status: number,
  code: string,
  header?: readonly [string, string],
])[] = [
  [{ kind: 'invalid', issues }, 400, 'BAD_REQUEST'],
  [{ kind: 'body_malformed', reason: 'is not valid JSON' }, 400, 'BAD_REQUEST'],
  [{ kind: 'end_user_id_required' }, 400, 'BAD_REQUEST'],
  [
    { kind: 'principal_invalid', reason: 'must be an object', endUserIdMissing: true },
    400,
    'BAD_REQUEST',
  ],
  [{ kind: 'unauthorized' }, 401, 'UNAUTHORIZED', ['WWW-Authenticate', 'Bearer']],
  [{ kind: 'cron_unauthorized' }, 401, 'UNAUTHORIZED', ['WWW-Authenticate', 'Bearer']],
  [{ kind: 'run_token_invalid' }, 401, 'UNAUTHORIZED', ['WWW-Authenticate', 'Bearer']],
  [{ kind: 'forbidden', permissions: ['project:admin'] }, 403, 'FORBIDDEN'],
  [{ kind: 'route_not_found' }, 404, 'NOT_FOUND'],
  [{ kind: 'agent_not_found' }, 404, 'NOT_FOUND'],
  [{ kind: 'message_not_found' }, 404, 'NOT_FOUND'],
  [{ kind: 'webhook_not_found' }, 404, 'NOT_FOUND'],
  [{ kind: 'session_not_found' }, 404, 'NOT_FOUND'],
  [{ kind: 'delivery_not_found' }, 404, 'NOT_FOUND'],
  [{ kind: 'key_not_found' }, 404, 'NOT_FOUND'],
  [{ kind: 'project_not_found' }, 404, 'NOT_FOUND'],
  [
    { kind: 'method_not_allowed', allow: ['GET', 'POST'] },
    405,
    'METHOD_NOT_ALLOWED',
    ['Allow', 'GET, POST'],
  ],
  [
    { kind: 'agent_not_running', state: 'starting', retryInMs: 1_000 },
    409,
    'AGENT_NOT_RUNNING',
    ['Retry-After', '1'],
  ],
  [
    { kind: 'agent_not_running', state: 'error', retryInMs: 4_001 },
    409,
    'AGENT_NOT_RUNNING',
    ['Retry-After', '5'],
  ],
  [{ kind: 'agent_not_running', state: 'error' }, 409, 'AGENT_NOT_RUNNING'],
  [{ kind: 'agent_not_running', state: 'running' }, 409, 'AGENT_NOT_RUNNING'],
  [{ kind: 'agent_not_stopped' }, 409, 'CONFLICT'],
  [{ kind: 'agent_busy' }, 409, 'CONFLICT'],
  [{ kind: 'name_taken' }, 409, 'CONFLICT'],
  [{ kind: 'key_taken' }, 409, 'CONFLICT'],
  [{ kind: 'too_many_webhooks' }, 409, 'CONFLICT'],
  [{ kind: 'message_final' }, 409, 'CONFLICT'],
  [{ kind: 'message_not_retryable' }, 409, 'CONFLICT'],
  [{ kind: 'session_busy' }, 409, 'CONFLICT'],
  [{ kind: 'run_superseded' }, 409, 'CONFLICT'],
  [{ kind: 'body_too_large', maxBytes: 10 }, 413, 'PAYLOAD_TOO_LARGE'],
  [{ kind: 'media_type_unsupported', reason: 'Send JSON' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
  [{ kind: 'idempotency_mismatch' }, 422, 'IDEMPOTENCY_MISMATCH'],
  [{ kind: 'session_full' }, 429, 'TOO_MANY_REQUESTS', ['Retry-After', '1']],
  [{ kind: 'too_many_streams' }, 429, 'TOO_MANY_REQUESTS', ['Retry-After', '1']],
  [{ kind: 'internal' }, 500, 'INTERNAL_ERROR'],
  [{ kind: 'body_consumed' }, 500, 'INTERNAL_ERROR'],
  [
    { kind: 'unavailable', reason: 'select * from api_keys' },
    503,
    'UNAVAILABLE',
    ['Retry-After', '1'],
  ],
]

async function refused(error: HttpError) {
  const app = new Hono<Env>().get('/', (c) => {
    c.set('requestId', 'request-1')
    return refuse(c, error)
  })
  const response = await app.request('/')
  return { status: response.status, headers: response.headers, json: await response.json() }
}

describe('refuse', () => {
  it.each(answers.map(([error, ...expected]) => ({ error, expected })))(
    '$error',
    async ({ error, expected: [status, code, header] }) => {
      const { json, headers, ...answer } = await refused(error)
      expect(answer.status).toBe(status)
      expect(json).toMatchObject({
        error: { code, message: expect.stringMatching(/^\S.*\S$/) },
        requestId: 'request-1',
      })
      expect(Object.keys(json)).toEqual(['error', 'requestId'])
      for (const name of ['WWW-Authenticate', 'Allow', 'Retry-After'])
        expect(headers.get(name)).toBe(header?.[0] === name ? header[1] : null)
      expect([headers.get('cache-control'), headers.get('x-request-id')]).toEqual([
        'no-store',
        'request-1',
      ])
    },
  )

  it('lists the issues of an invalid request', async () => {
    expect((await refused({ kind: 'invalid', issues })).json.error).toEqual({
      code: 'BAD_REQUEST',
      message: 'name must be a slug',
      issues,
    })
  })

  it('keeps the text that callers can compare', async () => {
    const messageOf = async (error: HttpError) => (await refused(error)).json.error.message
    expect(await messageOf({ kind: 'end_user_id_required' })).toBe(s7)
    expect(
      await messageOf({
        kind: 'principal_invalid',
        reason: 'type is wrong',
        endUserIdMissing: true,
      }),
    ).toBe(`executionPrincipal is invalid: type is wrong; ${s7}`)
    expect(
      await messageOf({
        kind: 'principal_invalid',
        reason: 'type is wrong',
        endUserIdMissing: false,
      }),
    ).toBe('executionPrincipal is invalid: type is wrong')
  })

  it('does not show internal reasons', async () => {
    expect(
      JSON.stringify(
        (await refused({ kind: 'unavailable', reason: 'select * from api_keys' })).json,
      ),
    ).not.toContain('api_keys')
  })
})
