import type { Message } from '@org/agent-messaging-core'
import { errorIn, unless } from '@org/agent-messaging-core/host'
import {
  allowChat,
  ChatSession,
  endpointApp,
  type EndpointOptions,
  type KitEnv,
  readObject,
  refusal,
  reply,
  replyAnswer,
  replyEvents,
  withDefaults,
} from '@org/agent-messaging-http-kit'
import { type Context, Hono } from 'hono'
import { RunEvents, runFinished, runStarted, type RunIds } from './events.js'
import {
  dataPartOf,
  readIds,
  readRun,
  readThread,
  refuseField,
  type ResumeEntry,
  type RunRequest,
} from './request.js'
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

type Run = RunIds & {
  readonly session: ChatSession
  readonly message: Message
  /** What follows the start of the run. */
  readonly first: string
  readonly isWithdrawn?: boolean | undefined
}

const sessionOf = (c: Context<KitEnv>, d: Deps, sessionId: string): ChatSession =>
  new ChatSession(c, d, { agent: c.req.param('agent') ?? '', sessionId })

/** Sends the last message of the user, or answers a question. Streams the answer. */
async function run(c: Context<KitEnv>, d: Deps): Promise<Response> {
  const request = readRun(await readObject(c, d))
  const { threadId, runId } = request
  const session = sessionOf(c, d, threadId)
  const refused = request.resume && (await c.get('requester').confirm())
  if (refused) return refusal(refused)
  const { message, isKnown, isWithdrawn } = request.resume
    ? await resume(session, request, request.resume)
    : await send(session, request)
  // The client can have a part of an answer, which is void or comes again.
  const first = isKnown ? await snapshotOf(session, message) : ''
  return replyRun(c, d, { threadId, runId, session, message, first, isWithdrawn })
}

/** Streams the messages of a thread, and the answer to its oldest open message. */
async function connect(c: Context<KitEnv>, d: Deps): Promise<Response> {
  const ids = readIds(await readObject(c, d))
  const session = sessionOf(c, d, ids.threadId)
  const [message] = await session.open()
  const all = await session.messages()
  const thread = message ? withoutAnswer(all, message) : all
  const first = messagesEvent(thread) + otherEvents(thread)
  if (message) return replyRun(c, d, { ...ids, session, message, first })
  const text = runStarted(ids) + first + runFinished(ids)
  const next = async () => ({ text, isLast: true, isPiece: false })
  return replyEvents(c, { next, close: async () => undefined })
}

/** Cancels the open messages of a thread. */
async function stop(c: Context<KitEnv>, d: Deps): Promise<Response> {
  const { threadId } = readThread(await readObject(c, d))
  await sessionOf(c, d, threadId).cancel()
  return reply(c, 200, { threadId })
}

const replyRun = (c: Context<KitEnv>, d: Deps, run: Run): Promise<Response> =>
  replyAnswer(
    c,
    d,
    run.message,
    new RunEvents({ ...run, snapshot: () => snapshotOf(run.session, run.message) }),
  )

/** Returns the event with the messages up to this one, without its answer. */
const snapshotOf = async (session: ChatSession, message: Message): Promise<string> =>
  messagesEvent(withoutAnswer(await session.messages(), message))

function withoutAnswer(thread: readonly Message[], message: Message): readonly Message[] {
  const at = thread.findIndex(({ id }) => id === message.id)
  const before = thread.slice(0, at < 0 ? thread.length : at)
  return [...before, { ...message, state: { kind: 'queued', notBefore: 0 } }]
}

/** `isKnown` is true if the client can have a part of the answer. */
type Asked = {
  readonly message: Message
  readonly isKnown: boolean
  readonly isWithdrawn?: boolean | undefined
}

async function send(session: ChatSession, request: RunRequest): Promise<Asked> {
  const { runId, user, data } = request
  if (!user?.isLast)
    return refuseField(
      'messages',
      'must end with a message of the user. The agent has its own tools, and `connect` continues an answer',
    )
  const { id, text, files, at } = user
  const names: Readonly<Record<string, string>> = {
    sessionId: 'threadId',
    id: 'runId',
    message: `${at}.content`,
    metadata: `${at}.id`,
    ...Object.fromEntries(files.map((file, index) => [`parts.${index}`, file.at])),
    [`parts.${files.length}`]: Object.keys(data).join(', '),
    parts: [...Object.keys(data), 'messages'].join(', '),
  }
  const parts = [...files.map(({ file }) => file), ...dataPartOf(request)]
  const asked = { id: runId, message: text, parts, metadata: keptId(id) }
  const { message, attached } = await session.send(asked).catch(refuseAs(names))
  return { message, isKnown: attached }
}

async function resume(
  session: ChatSession,
  { user }: RunRequest,
  { interruptId, isCancelled, payload }: ResumeEntry,
): Promise<Asked> {
  const asking = await session.asking(interruptId)
  if (user?.isLast && user.id !== undefined && user.id !== userIdOf(asking))
    return refuseField(user.at, 'is new. Send it in another run, after the run that resumes')
  if (!isCancelled) {
    const answer = { inputId: interruptId, value: payload }
    const message = await session.answer(answer).catch(refuseAs({ value: 'resume.0.payload' }))
    return { message, isKnown: true }
  }
  // Its deadline can have closed the question.
  const withdrawn = await session.withdraw(interruptId).catch(unless('input_closed'))
  return { message: withdrawn ?? asking, isKnown: true, isWithdrawn: true }
}

/** Puts the names of the request's fields into a refusal of core. */
const refuseAs =
  (names: Readonly<Record<string, string>>) =>
  (thrown: unknown): Promise<never> => {
    const error = errorIn(thrown)
    if (error.kind !== 'invalid') return refusal(error)
    const issues = error.issues.map(({ path, message }) => {
      const known = Object.keys(names).find((name) => path === name || path.startsWith(`${name}.`))
      return { path: known ? `${names[known]}${path.slice(known.length)}` : path, message }
    })
    return refusal({ ...error, issues })
  }
