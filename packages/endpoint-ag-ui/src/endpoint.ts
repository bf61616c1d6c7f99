import type { Message } from '@org/agent-messaging-core'
import { unless } from '@org/agent-messaging-core/host'
import {
  allowChat,
  ChatSession,
  endpointApp,
  type EndpointOptions,
  type KitEnv,
  readObject,
  refuseAs,
  refusal,
  reply,
  replyAnswer,
  replyEvents,
  withDefaults,
  type KitContext,
  refuseField,
} from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { type Run, RunEvents, runFinished, runStarted } from './events.js'
import { readIds, readRun, readThread, type RunRequest } from './request.js'
import { keptId, messagesEvent, otherEvents, userIdOf } from './snapshot.js'

type Deps = ReturnType<typeof withDefaults<EndpointOptions>>

/**
 * Creates the routes under `/ag-ui/v1`, for clients of AG-UI. Serve its `fetch`, or mount the app in
 * a Hono app with `host.route('/', createAgUiEndpoint(…))`.
 */
export function createAgUiEndpoint(options: EndpointOptions): Hono {
  const d = withDefaults(options)
  const routes = new Hono<KitEnv>()
    .post('/:agent', allowChat(d, 'messages.send'), (c) => run(c, d))
    .post('/:agent/connect', allowChat(d, 'messages.stream'), (c) => connect(c, d))
    .post('/:agent/stop', allowChat(d, 'messages.cancel'), (c) => stop(c, d))
  return endpointApp(d, '/ag-ui/v1', routes)
}

/** Sends the last message of the user, or answers a question. Streams the answer. */
async function run(c: KitContext, d: Deps): Promise<Response> {
  const request = readRun(await readObject(c, d))
  const session = new ChatSession(c, d, request.threadId)
  const { resume: answer } = request
  const refused = answer && (await c.get('requester').confirm())
  if (refused) return refusal(refused)
  const asked = answer ? await resume(session, request, answer) : await send(session, request)
  return stream(c, d, session, { ...request, ...asked })
}

/** Streams the messages of a thread, and the answer to its oldest open message. */
async function connect(c: KitContext, d: Deps): Promise<Response> {
  const ids = readIds(await readObject(c, d))
  const session = new ChatSession(c, d, ids.threadId)
  const [message] = await session.open()
  const all = await session.messages()
  const thread = message ? withoutAnswer(all, message) : all
  const first = messagesEvent(thread) + otherEvents(thread)
  if (message) return stream(c, d, session, { ...ids, message, first })
  const text = runStarted(ids) + first + runFinished(ids)
  const next = async () => ({ text, isLast: true, isPiece: false })
  return replyEvents(c, { next, close: next })
}

/** Cancels the open messages of a thread. */
async function stop(c: KitContext, d: Deps): Promise<Response> {
  const threadId = readThread(await readObject(c, d))
  await new ChatSession(c, d, threadId).cancel()
  return reply(c, 200, { threadId })
}

function stream(
  c: KitContext,
  d: Deps,
  session: ChatSession,
  run: Omit<Run, 'snapshot'>,
): Promise<Response> {
  const snapshot = () => snapshotOf(session, run.message)
  return replyAnswer(c, d, run.message, new RunEvents({ ...run, snapshot }))
}

/** Returns the event with the messages up to this one, without its answer. */
const snapshotOf = async (session: ChatSession, message: Message): Promise<string> =>
  messagesEvent(withoutAnswer(await session.messages(), message))

function withoutAnswer(thread: readonly Message[], message: Message): readonly Message[] {
  const at = thread.findIndex(({ id }) => id === message.id)
  const before = thread.slice(0, at < 0 ? thread.length : at)
  return [...before, { ...message, state: { kind: 'queued', notBefore: 0 } }]
}

async function send(session: ChatSession, { runId, user }: RunRequest) {
  if (!user)
    return refuseField(
      'messages',
      'must end with a message of the user. The agent has its own tools, and `connect` continues an answer',
    )
  const { id, text, parts: placed, at } = user
  const parts = placed.map(({ part }) => part)
  const { message, attached } = await session
    .send({ id: runId, message: text, parts, metadata: keptId(id) })
    .catch(
      refuseAs({
        sessionId: 'threadId',
        id: 'runId',
        message: `${at}.content`,
        metadata: `${at}.id`,
        parts: 'files, state, tools, context and forwardedProps',
        ...Object.fromEntries(placed.map((one, index) => [`parts.${index}`, one.at])),
      }),
    )
  // A client that repeats its run can have a part of the answer, which comes again.
  return { message, first: attached ? await snapshotOf(session, message) : '' }
}

async function resume(
  session: ChatSession,
  { user }: RunRequest,
  { inputId, value, isCancelled }: NonNullable<RunRequest['resume']>,
) {
  const asking = await session.asking(inputId)
  if (user?.id !== undefined && user.id !== userIdOf(asking))
    return refuseField(user.at, 'is new. Send it in another run, after the run that resumes')
  // Its deadline can have closed the question.
  const changed = isCancelled
    ? await session.withdraw(inputId).catch(unless('input_closed'))
    : await session.answer({ inputId, value }).catch(refuseAs({ value: 'resume.0.payload' }))
  const message = changed ?? asking
  return { message, first: await snapshotOf(session, message), isWithdrawn: isCancelled }
}
