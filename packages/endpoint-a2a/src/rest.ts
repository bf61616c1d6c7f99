import {
  A2A_CONTENT_TYPE,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk'
import { RequestMalformedError, restStatusFor } from '@a2a-js/sdk/errors'
import { bodyTextRule, isJsonObject } from '@org/agent-messaging-core/runtime'
import { reply } from '@org/agent-messaging-http-kit'
import { Hono, type Context } from 'hono'
import type { AgentHandler } from './agent-handler.js'
import type { Env } from './env.js'
import { a2aError, isRevoked } from './errors.js'
import { replyStream } from './event-stream.js'
import type { Deps } from './options.js'
import { readBody } from './read-body.js'
import { errorBody, refuse } from './reply.js'
import { checkTexts } from './text-fields.js'
import { callOf } from './version.js'

const TYPE = { 'Content-Type': A2A_CONTENT_TYPE }
const BODY_TYPES = ['application/json', A2A_CONTENT_TYPE]

type Operation = (handler: AgentHandler) => Promise<Response>

/** The routes of the HTTP+JSON binding, below the path of an agent. */
export const restRoutes = (d: Deps) => {
  return new Hono<Env>()
    .post('/message:send', (c) =>
      answerRest(c, async (handler) => {
        const task = await handler.sendMessage(await readSend(c, d))
        return reply(c, 200, { task: Task.toJSON(task) }, TYPE)
      }),
    )
    .post('/message:stream', (c) =>
      answerRest(c, async (handler) => stream(c, handler.sendMessageStream(await readSend(c, d)))),
    )
    .get('/tasks', (c) =>
      answerRest(c, async (handler) => {
        const request = readList(c.req.query())
        const page = ListTasksResponse.toJSON(await handler.listTasks(request)) as object
        const empty = { tasks: [], nextPageToken: '', pageSize: 0, totalSize: 0 }
        return reply(c, 200, { ...empty, ...page }, TYPE)
      }),
    )
    .get('/tasks/:task', (c) => {
      const sent = c.req.param('task')
      // Hono passes HEAD to a GET handler, and no caller would read the stream.
      if (sent.endsWith(SUBSCRIBE) && c.req.method !== 'HEAD')
        return answerRest(c, subscription(c, sent))
      const id = sent.endsWith(SUBSCRIBE) ? sent.slice(0, -SUBSCRIBE.length) : sent
      const historyLength = numberOf(c.req.query('historyLength'))
      return answerRest(c, async (handler) => {
        const task = await handler.getTask({ tenant: '', id, historyLength })
        return reply(c, 200, Task.toJSON(task), TYPE)
      })
    })
    .post('/tasks/:task', (c) => {
      const id = c.req.param('task')
      if (id.endsWith(SUBSCRIBE)) return answerRest(c, subscription(c, id))
      if (!id.endsWith(CANCEL)) return refuse(c, a2aError({ kind: 'route_not_found' }), 404)
      return answerRest(c, async (handler) => {
        const request = { tenant: '', id: id.slice(0, -CANCEL.length), metadata: undefined }
        return reply(c, 200, Task.toJSON(await handler.cancelTask(request)), TYPE)
      })
    })
    .get('/extendedAgentCard', (c) =>
      answerRest(c, (handler) => handler.getAuthenticatedExtendedAgentCard()),
    )
    .route('/tasks/:task/pushNotificationConfigs', pushConfigRoutes(d))
}

const pushConfigRoutes = (d: Deps) => {
  return new Hono<Env>()
    .post('/', (c) =>
      answerRest(c, async (handler) => {
        const sent = await readJson(c, d, TaskPushNotificationConfig)
        const config = { ...sent, taskId: taskOf(c) }
        const set = await handler.createTaskPushNotificationConfig(config)
        return reply(c, 200, TaskPushNotificationConfig.toJSON(set), TYPE)
      }),
    )
    .get('/', (c) =>
      answerRest(c, async (handler) => {
        const page = await handler.listTaskPushNotificationConfigs({ taskId: taskOf(c) })
        const body = ListTaskPushNotificationConfigsResponse.toJSON(page) as object
        return reply(c, 200, { configs: [], ...body }, TYPE)
      }),
    )
    .get('/:config', (c) =>
      answerRest(c, async (handler) => {
        const request = { tenant: '', taskId: taskOf(c), id: c.req.param('config') }
        const config = await handler.getTaskPushNotificationConfig(request)
        return reply(c, 200, TaskPushNotificationConfig.toJSON(config), TYPE)
      }),
    )
    .delete('/:config', (c) =>
      answerRest(c, async (handler) => {
        const request = { tenant: '', taskId: taskOf(c), id: c.req.param('config') }
        await handler.deleteTaskPushNotificationConfig(request)
        return reply(c, 200, {}, TYPE)
      }),
    )
}

const taskOf = (c: Context<Env>): string => c.req.param('task') ?? ''

const SUBSCRIBE = ':subscribe'
const CANCEL = ':cancel'

const subscription =
  (c: Context<Env>, id: string): Operation =>
  (handler) =>
    stream(c, handler.resubscribe({ tenant: '', id: id.slice(0, -SUBSCRIBE.length) }))

/** Checks the version, runs the operation, and answers its error. */
async function answerRest(c: Context<Env>, operation: Operation): Promise<Response> {
  const handler = c.get('handler')
  try {
    await callOf(c, 'HTTP+JSON')
    return await operation(handler)
  } catch (error) {
    const known = (await isRevoked(handler.access))
      ? a2aError({ kind: 'unauthorized' })
      : handler.known(error)
    return refuse(c, known, restStatusFor(known))
  }
}

function stream(
  c: Context<Env>,
  events: AsyncGenerator<StreamResponse, void, undefined>,
): Promise<Response> {
  const error = (thrown: unknown): unknown => {
    const known = c.get('handler').known(thrown)
    return errorBody(known, restStatusFor(known))
  }
  return replyStream(c, jsonOf(events), { error })
}

async function* jsonOf(events: AsyncGenerator<StreamResponse, void, undefined>) {
  for await (const event of events) yield StreamResponse.toJSON(event)
}

const readSend = (c: Context<Env>, d: Deps): Promise<SendMessageRequest> =>
  readJson(c, d, SendMessageRequest)

async function readJson<T>(
  c: Context<Env>,
  d: Deps,
  type: { fromJSON(body: unknown): T },
): Promise<T> {
  const body = await readBody(c, d.maxBodyBytes, BODY_TYPES)
  if (!isJsonObject(body))
    throw new RequestMalformedError(`The body must be a JSON object with ${bodyTextRule}`)
  checkTexts(body)
  try {
    return type.fromJSON(body)
  } catch {
    throw new RequestMalformedError('The body has a field of a wrong type')
  }
}

const readList = (query: Record<string, string>): ListTasksRequest =>
  ListTasksRequest.fromJSON({
    ...query,
    pageSize: numberOf(query['pageSize']),
    historyLength: numberOf(query['historyLength']),
    includeArtifacts: query['includeArtifacts'] === 'true',
  })

const numberOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text)
