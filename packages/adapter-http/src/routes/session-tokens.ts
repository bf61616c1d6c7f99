import { orMissing } from '@org/agent-messaging-core/runtime'
import type { SessionToken } from '@org/agent-messaging-core/host'
import type { SessionScope } from '@org/agent-messaging-core/storage'
import { bearerToken, refusal } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { routesOf, shown } from '../route.js'
import { number, text, creationOf } from '../schemas.js'
import { at, named } from '../wire/body.js'

const scope = (name: 'ids' | 'prefix', field: object) => ({
  type: 'object',
  properties: { [name]: field },
  required: [name],
  additionalProperties: false,
})

const newSessionToken = creationOf(
  'NewSessionToken',
  {
    // The service checks the fields.
    sessions: z
      .custom<SessionScope>((value) => value !== undefined, orMissing('must be an object'))
      .meta({
        description:
          'The only sessions that the token opens. A prefix ends with one of `/ : . _ -`.',
        shown: {
          oneOf: [
            scope('ids', { type: 'array', items: { type: 'string' } }),
            scope('prefix', { type: 'string' }),
          ],
        },
      }),
    agents: z.array(z.string()).optional().describe('Ids or names of agents. Absent: all agents.'),
    endUserId: text.optional().describe('The only end user for whom the token acts.'),
    expiresInMs: number.optional().meta({
      shown: { type: 'integer', minimum: 1_000, maximum: 86_400_000, default: 900_000 },
      description: 'The time from now to the end of the token.',
    }),
  },
  { examples: [{ sessions: { prefix: 'user-17/' } }] },
)

const sessionTokenSchema = named('SessionToken', {
  token: z.string().describe('Shown only in this answer.'),
  expiresAt: at,
})

/** Tokens that open some sessions, for browsers. */
export const sessionTokenRoutes = (d: HttpDeps) => {
  const { sessionTokens } = d.service
  const route = routesOf(d, { tag: 'Session tokens' })
  return new Hono<Env>().post(
    '/v1/session-tokens',
    route(
      {
        operationId: 'createSessionToken',
        call: 'sessionTokens.create',
        summary: 'Create a token that opens some sessions, for a browser',
        description:
          'The token goes into `Authorization: Bearer …`. It can send, read, stream, cancel, retry and ' +
          'answer messages of its sessions, and list them. It ends at its time, or with the API key.',
        body: newSessionToken,
        answer: shown('The token', sessionTokenSchema, (created: SessionToken) => created, 201),
      },
      (c, sent) =>
        c.get('requester').sentBy
          ? sessionTokens.create({
              ...sent,
              projectId: c.get('projectId'),
              apiKey: bearerToken(c.req.raw),
            })
          : refusal({ kind: 'access_restricted' }),
    ),
  )
}
