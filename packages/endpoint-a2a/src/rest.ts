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
import { Hono } from 'hono'
import type { AgentHandler } from './agent-handler.js'
import type { Env, RouteContext } from './env.js'
import { a2aError, isRevoked } from './errors.js'
import { replyStream } from './event-stream.js'
import type { Deps } from './options.js'
import { errorBody, refuse } from './reply.js'
import { callOf, checkTexts, readBody } from './request.js'

const TYPE = { 'Content-Type': A2A_CONTENT_TYPE }
const BODY_TYPES = ['application/json', A2A_CONTENT_TYPE]

/** Returns the JSON of the answer, or the whole answer. */
type Operation = (handler: AgentHandler, c: RouteContext) => Promise<unknown>

/** The routes of the HTTP+JSON binding, below the path of an agent. */
export const restRoutes = (d: Deps) =>
  new Hono<Env>()
    .post(
      '/message:send',
      rest(async (handler, c) => ({
        task: Task.toJSON(await handler.sendMessage(await readSend(c, d))),
      })),
    )
    .post(
      '/message:stream',
      rest(async (handler, c) => stream(c, handler.sendMessageStream(await readSend(c, d)))),
    )
    .get(
      '/tasks',
      rest(async (handler, c) => {
        const page = await handler.listTasks(readList(c.req.query()))
        const empty = { tasks: [], nextPageToken: '', pageSize: 0, totalSize: 0 }
        return { ...empty, ...(ListTasksResponse.toJSON(page) as object) }
      }),
    )
    .get('/tasks/:task', (c) => {
      const id = taskOf(c)
      // Hono passes HEAD to a GET handler, and no caller would read the stream.
      if (id.endsWith(SUBSCRIBE) && c.req.method !== 'HEAD') return subscribe(c)
      return readTask(c)
    })
    .post('/tasks/:task', (c) => {
      const id = taskOf(c)
      if (id.endsWith(SUBSCRIBE)) return subscribe(c)
      return id.endsWith(CANCEL) ? cancel(c) : refuse(c, a2aError({ kind: 'route_not_found' }), 404)
    })
    .get(
      '/extendedAgentCard',
      rest((handler) => handler.getAuthenticatedExtendedAgentCard()),
    )
    .route('/tasks/:task/pushNotificationConfigs', pushConfigRoutes(d))

const pushConfigRoutes = (d: Deps) =>
  new Hono<Env>()
    .post(
      '/',
      rest(async (handler, c) => {
        const sent = await readBodyAs(c, d, TaskPushNotificationConfig)
        const config = { ...sent, taskId: taskOf(c) }
        return TaskPushNotificationConfig.toJSON(
          await handler.createTaskPushNotificationConfig(config),
        )
      }),
    )
    .get(
      '/',
      rest(async (handler, c) => {
        const page = await handler.listTaskPushNotificationConfigs({ taskId: taskOf(c) })
        return {
          configs: [],
          ...(ListTaskPushNotificationConfigsResponse.toJSON(page) as object),
        }
      }),
    )
    .get(
      '/:config',
      rest(async (handler, c) =>
        TaskPushNotificationConfig.toJSON(
          await handler.getTaskPushNotificationConfig(configRef(c)),
        ),
      ),
    )
    .delete(
      '/:config',
      rest(async (handler, c) => {
        await handler.deleteTaskPushNotificationConfig(configRef(c))
        return {}
      }),
    )

const SUBSCRIBE = ':subscribe'
const CANCEL = ':cancel'

const taskOf = (c: RouteContext): string => c.req.param('task') ?? ''
const configRef = (c: RouteContext) => ({
  tenant: '',
  taskId: taskOf(c),
  id: c.req.param('config') ?? '',
})
/** Returns the id of a task whose path ends with an operation. */
const idBefore = (c: RouteContext, operation: string): string =>
  taskOf(c).endsWith(operation) ? taskOf(c).slice(0, -operation.length) : taskOf(c)

/** Checks the version, runs the operation, and answers with its result or its error. */
const rest =
  (operation: Operation) =>
  async (c: RouteContext): Promise<Response> => {
    const handler = c.get('handler')
    try {
      await callOf(c, 'HTTP+JSON')
      const result = await operation(handler, c)
      return result instanceof Response ? result : reply(c, 200, result, TYPE)
    } catch (error) {
      const known = (await isRevoked(handler.access))
        ? a2aError({ kind: 'unauthorized' })
        : handler.known(error)
      return refuse(c, known, restStatusFor(known))
    }
  }

const readTask = rest(async (handler, c) => {
  const historyLength = numberOf(c.req.query('historyLength'))
  return Task.toJSON(
    await handler.getTask({ tenant: '', id: idBefore(c, SUBSCRIBE), historyLength }),
  )
})

const cancel = rest(async (handler, c) => {
  const request = { tenant: '', id: idBefore(c, CANCEL), metadata: undefined }
  return Task.toJSON(await handler.cancelTask(request))
})

const subscribe = rest(async (handler, c) =>
  stream(c, handler.resubscribe({ tenant: '', id: idBefore(c, SUBSCRIBE) })),
)

function stream(
  c: RouteContext,
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

const readSend = (c: RouteContext, d: Deps): Promise<SendMessageRequest> =>
  readBodyAs(c, d, SendMessageRequest)

async function readBodyAs<T>(
  c: RouteContext,
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
