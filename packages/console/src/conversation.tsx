import { isFinal } from '@org/agent-messaging-core'
import { isRetryable, toIso } from '@org/agent-messaging-core/runtime'
import type { Agent, Instant, Message } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { ok, safeTry } from 'neverthrow'
import { asKnown } from './known-agents.js'
import { show, showProblem } from './layout.js'
import type { ConsoleDeps, Env } from './context.js'
import { BASE } from './options.js'
import { Id, Next, pathOf, refreshed, Status, Time, took } from './parts.js'
import { agentIn, pageOf, sessionIn } from './paging.js'
import { problemStatus, problemText } from './problem.js'
import { SendForm, type Draft } from './send-form.js'
import { messageTones } from './wording.js'

/** Of a conversation the newest so many are shown; the rest is behind a link. */
const MESSAGES = 50

/** In the query, for a session may be called `..` or hold a slash: browsers and proxies change such paths. */
const withSession = (path: string, sessionId: string): string =>
  `${path}?${new URLSearchParams({ session: sessionId }).toString()}`
export const sessionPath = (agent: string, sessionId: string): string =>
  withSession(`${BASE}/sessions/${agent}`, sessionId)
export const erasePath = (agent: string, sessionId: string): string =>
  withSession(`${BASE}/sessions/${agent}/erase`, sessionId)

/** A conversation, its newest messages last, with a form to go on with it. */
export async function conversationPage(c: Context<Env>, { service }: ConsoleDeps, draft?: Draft) {
  const { projectId } = c.get('apiKey')
  const called = agentIn(c.req.param('agent') ?? '')
  const sessionId = sessionIn(c)
  const page = { ...pageOf(c), limit: MESSAGES }
  const found = await safeTry(async function* () {
    const agent = yield* service.agents.get({ projectId, agent: called })
    const messages = yield* service.messages.list({ projectId, agent: agent.id, sessionId, page })
    return ok({ agent: asKnown(c, agent, called), messages })
  })
  if (found.isErr()) return showProblem(c, problemStatus(found.error), problemText(found.error))
  const { agent, messages } = found.value
  if (messages.data.length === 0)
    return showProblem(c, 404, problemText({ kind: 'session_not_found' }))
  const isOpen = messages.data.some(({ state }) => !isFinal(state))
  return show(
    c,
    { title: sessionId, section: 'Sessions', status: draft?.problem === undefined ? 200 : 400 },
    <>
      <p class="crumbs">
        <a href={`${BASE}/sessions?agent=${agent.name}`}>{agent.name}</a> / session
      </p>
      <div class="heading talk">
        <h1 class="long" dir="auto">
          {sessionId}
        </h1>
        <a class="button quiet" href={erasePath(agent.name, sessionId)}>
          Erase
        </a>
      </div>
      <Next c={c} cursor={messages.nextCursor} words="Earlier" />
      <div
        role="group"
        aria-label="Conversation"
        class="conversation talk"
        {...refreshed('live', isOpen ? 1_000 : 5_000, pathOf(c))}
      >
        {messages.data.toReversed().map((message) => (
          <Exchange agent={agent} message={message} now={service.now()} />
        ))}
      </div>
      <p id="news" class="hidden" role="status" />
      <section class="card talk" id="end" aria-labelledby="send">
        <h2 id="send">Send a message</h2>
        <SendForm action={sessionPath(agent.name, sessionId)} agent={agent} draft={draft} />
      </section>
    </>,
  )
}

/** A message and what was answered: who said it, on whose behalf, and what came with it. */
function Exchange({
  agent,
  message,
  now,
}: {
  readonly agent: Agent
  readonly message: Message
  readonly now: Instant
}) {
  const { id, state, metadata, executionPrincipal: principal, attempt, createdAt } = message
  return (
    <article class="exchange" aria-label={`Message of ${toIso(createdAt)}`}>
      <div class="bubble asked">
        <p class="said" dir="auto">
          {message.message}
        </p>
        <p class="facts">
          <span>
            for <bdi>{principal.type === 'service' ? 'the service' : principal.endUserId}</bdi>
          </span>
          <Time at={createdAt} now={now} />
          <Id id={id} />
        </p>
        {metadata && Object.keys(metadata).length > 0 && (
          <details>
            <summary>Metadata</summary>
            <pre tabindex={0}>{JSON.stringify(metadata, null, 2)}</pre>
          </details>
        )}
      </div>
      <div class={`bubble answered ${messageTones[state.kind]}`}>
        {state.kind === 'responded' && (
          <p class="said" dir="auto">
            {state.response}
          </p>
        )}
        {state.kind === 'failed' && (
          <p class="said">
            <code>{state.error.code}</code> {state.error.message}
          </p>
        )}
        <p class="facts">
          <Status tone={messageTones[state.kind]}>{state.kind}</Status>
          {state.kind === 'responded' && <span>in {took(state.responseTimeMs)}</span>}
          {attempt > 1 && <span>run {attempt}</span>}
        </p>
        <MessageActions agent={agent} message={message} />
      </div>
    </article>
  )
}

function MessageActions({
  agent,
  message: { id, state },
}: {
  readonly agent: Agent
  readonly message: Message
}) {
  const action = isRetryable(state) ? 'retry' : isFinal(state) ? undefined : 'cancel'
  if (action === undefined) return null
  return (
    <form method="post" action={`${BASE}/messages/${agent.name}/${id}/${action}`}>
      <button id={`${action}-${id}`} class="small">
        {action === 'retry' ? 'Retry' : 'Cancel'}
      </button>
    </form>
  )
}
