import { isFinal, type Agent, type Instant, type Message } from '@org/agent-messaging-core'
import { isRetryable, toIso } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import { ok, safeTry } from 'neverthrow'
import type { ConsoleDeps, Env } from './context.js'
import { agentRef, pageOf, sessionIn } from './input.js'
import { withKnownName } from './known-agents.js'
import { show, showError } from './layout.js'
import { BASE } from './options.js'
import { formatDuration, Id, Next, pathOf, refreshed, Status, Time } from './parts.js'
import { SendForm, type Draft } from './send-form.js'
import { messageTones } from './wording.js'

const PAGE_LENGTH = 50

/** The session is part of the query. Browsers and proxies change paths with `..` or a slash. */
const withSession = (path: string, sessionId: string): string =>
  `${path}?${new URLSearchParams({ session: sessionId }).toString()}`
export const sessionPath = (agent: string, sessionId: string): string =>
  withSession(`${BASE}/sessions/${agent}`, sessionId)
export const erasePath = (agent: string, sessionId: string): string =>
  withSession(`${BASE}/sessions/${agent}/erase`, sessionId)

/** Shows a conversation, newest message last, with a form for the next message. */
export async function conversationPage(c: Context<Env>, { service }: ConsoleDeps, draft?: Draft) {
  const ref = agentRef(c)
  const sessionId = sessionIn(c)
  const page = { ...pageOf(c), limit: PAGE_LENGTH }
  const found = await safeTry(async function* () {
    const agent = yield* service.agents.get(ref)
    const messages = yield* service.messages.list({
      projectId: ref.projectId,
      agent: agent.id,
      sessionId,
      page,
    })
    return ok({ agent: withKnownName(c, agent, ref.agent), messages })
  })
  if (found.isErr()) return showError(c, found.error)
  const { agent, messages } = found.value
  if (messages.data.length === 0) return showError(c, { kind: 'session_not_found' })
  const hasDeliveries = c.get('apiKey').permissions.includes('project:webhooks')
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
      <Next c={c} cursor={messages.nextCursor} label="Earlier" />
      <div
        role="group"
        aria-label="Conversation"
        class="conversation talk"
        {...refreshed('live', isOpen ? 1_000 : 5_000, pathOf(c))}
      >
        {messages.data.toReversed().map((message) => (
          <Turn agent={agent} message={message} now={service.now()} hasDeliveries={hasDeliveries} />
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

type TurnProps = {
  readonly agent: Agent
  readonly message: Message
  readonly now: Instant
  /** True if the key of the visit can read deliveries. */
  readonly hasDeliveries: boolean
}

/** Shows one message with its answer, principal and metadata. */
function Turn({ agent, message, now, hasDeliveries }: TurnProps) {
  const { id, metadata, executionPrincipal: principal, createdAt } = message
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
          <Id id={id} href={`${BASE}/messages/${id}`} />
          {hasDeliveries && <a href={`${BASE}/deliveries?message=${id}`}>Deliveries</a>}
        </p>
        {metadata && Object.keys(metadata).length > 0 && (
          <details>
            <summary>Metadata</summary>
            <pre tabindex={0}>{JSON.stringify(metadata, null, 2)}</pre>
          </details>
        )}
      </div>
      <Answer agent={agent} message={message} />
    </article>
  )
}

function Answer({ agent, message }: Pick<TurnProps, 'agent' | 'message'>) {
  const { state, attempt } = message
  return (
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
        {state.kind === 'responded' && <span>in {formatDuration(state.responseTimeMs)}</span>}
        {attempt > 1 && <span>run {attempt}</span>}
      </p>
      <MessageActions agent={agent} message={message} />
    </div>
  )
}

export function MessageActions({
  agent,
  message: { id, state },
}: Pick<TurnProps, 'agent' | 'message'>) {
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
