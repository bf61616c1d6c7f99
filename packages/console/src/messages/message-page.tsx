import { isFinal } from '@org/agent-messaging-core'
import type {
  Agent,
  DeliveryDetail,
  Instant,
  Message,
  Webhook,
  WebhookDelivery,
} from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { ok, okAsync, safeTry } from 'neverthrow'
import type { ConsoleDeps, Env } from '../context.js'
import { MessageActions, sessionPath } from './conversation.js'
import { DeliveryTable, detailsOf } from '../deliveries/delivery-table.js'
import { idIn } from '../parts/input.js'
import { withKnownName } from '../known-agents.js'
import { show, showError } from '../parts/layout.js'
import { messagesPath } from './message-filter.js'
import { BASE } from '../options.js'
import { Empty, formatDuration, pathOf, refreshed, Status, Time, WholeId } from '../parts/parts.js'
import { Questions } from './questions.js'
import { messageTones } from '../parts/wording.js'

const MAX_DELIVERIES = 25
const MAX_WEBHOOKS = 100

type PageProps = {
  readonly message: Message
  readonly agent: Agent
  /** Undefined if the API key cannot read deliveries. */
  readonly sent: Sent | undefined
  readonly now: Instant
}
type Sent = {
  readonly details: readonly DeliveryDetail[]
  readonly hasMore: boolean
  readonly webhooks: readonly Webhook[]
}

/** Shows one message with its answer or error, its events and its deliveries. */
export async function messagePage(c: Context<Env>, d: ConsoleDeps) {
  const found = await readMessage(c, d)
  if (found.isErr()) return showError(c, found.error)
  if (!found.value) return showError(c, { kind: 'message_not_found' })
  const { message, agent, sent } = found.value
  return show(
    c,
    { title: `Message ${message.id}`, section: 'Messages' },
    <>
      <p class="crumbs">
        <a href={`${BASE}/messages`}>Messages</a> /{' '}
        <a href={sessionPath(agent.name, message.sessionId)}>session</a> / message
      </p>
      <h1>Message</h1>
      <div {...refreshed('live', isFinal(message.state) ? 5_000 : 1_000, pathOf(c))}>
        <MessageActions agent={agent} message={message} />
        <div class="columns">
          <Texts message={message} now={d.service.now()} />
          <Facts message={message} agent={agent} now={d.service.now()} />
        </div>
        {sent && <Deliveries messageId={message.id} sent={sent} now={d.service.now()} />}
      </div>
    </>,
  )
}

const readMessage = (c: Context<Env>, { service }: ConsoleDeps) =>
  safeTry(async function* () {
    const { projectId, permissions } = c.get('apiKey')
    const { data } = yield* service.messages.search({
      projectId,
      messageId: idIn(c.req.param('id')),
      page: { limit: 1 },
    })
    const [found] = data
    if (!found) return ok(undefined)
    const agent = yield* service.agents.get({ projectId, agent: found.message.agentId })
    const sent = permissions.includes('project:webhooks')
      ? yield* readDeliveries(service, projectId, found.deliveries)
      : undefined
    return ok({ message: found.message, agent: withKnownName(c, agent, agent.id), sent })
  })

const readDeliveries = (
  service: ConsoleDeps['service'],
  projectId: string,
  deliveries: readonly WebhookDelivery[],
) =>
  safeTry(async function* () {
    const details = yield* detailsOf(service, deliveries.slice(0, MAX_DELIVERIES))
    const webhooks = yield* deliveries.length === 0
      ? okAsync({ data: [] })
      : service.webhooks.list(projectId, { limit: MAX_WEBHOOKS })
    const hasMore = deliveries.length > MAX_DELIVERIES
    return ok<Sent>({ details, hasMore, webhooks: webhooks.data })
  })

const Texts = ({ message: whole, now }: Pick<PageProps, 'message' | 'now'>) => {
  const { message, state, metadata, inputs } = whole
  return (
    <section class="card" aria-labelledby="said">
      <h2 id="said">Message</h2>
      <pre class="prose" dir="auto" tabindex={0}>
        {message}
      </pre>
      {inputs && (
        <>
          <h2>Questions</h2>
          <Questions message={whole} now={now} />
        </>
      )}
      {state.kind === 'responded' && (
        <>
          <h2>Answer</h2>
          <pre class="prose" dir="auto" tabindex={0}>
            {state.response}
          </pre>
        </>
      )}
      {state.kind === 'failed' && (
        <>
          <h2>Error</h2>
          <p class="problem">
            <code>{state.error.code}</code> {state.error.message}
          </p>
        </>
      )}
      {metadata && Object.keys(metadata).length > 0 && (
        <>
          <h2>Metadata</h2>
          <pre tabindex={0}>{JSON.stringify(metadata, null, 2)}</pre>
        </>
      )}
    </section>
  )
}

function Facts({ message, agent, now }: Pick<PageProps, 'message' | 'agent' | 'now'>) {
  const { id, state, sessionId, executionPrincipal: principal, attempt, createdAt } = message
  return (
    <dl class="facts-list card">
      <dt>State</dt>
      <dd>
        <Status tone={messageTones[state.kind]}>{state.kind}</Status>
      </dd>
      <dt>Session</dt>
      <dd class="long">
        <a href={sessionPath(agent.name, sessionId)}>
          <bdi>{sessionId}</bdi>
        </a>
      </dd>
      <dt>Agent</dt>
      <dd class="long">
        <a href={`${BASE}/sessions?agent=${agent.name}`}>{agent.name}</a>
      </dd>
      <dt>For</dt>
      <dd class="long">
        {principal.type === 'service' ? (
          'the service'
        ) : (
          <a href={messagesPath({ user: principal.endUserId })}>
            <bdi>{principal.endUserId}</bdi>
          </a>
        )}
      </dd>
      <dt>Sent</dt>
      <dd>
        <Time at={createdAt} now={now} />
      </dd>
      <Ended state={state} now={now} />
      <dt>Runs</dt>
      <dd>{attempt}</dd>
      <dt>Message ID</dt>
      <dd>
        <WholeId id={id} />
      </dd>
    </dl>
  )
}

function Ended({ state, now }: Pick<Message, 'state'> & { readonly now: Instant }) {
  switch (state.kind) {
    case 'responded':
      return (
        <>
          <dt>Answered</dt>
          <dd>
            <Time at={state.respondedAt} now={now} />, in {formatDuration(state.responseTimeMs)}
          </dd>
        </>
      )
    case 'failed':
      return (
        <>
          <dt>Failed</dt>
          <dd>
            <Time at={state.failedAt} now={now} />
          </dd>
        </>
      )
    case 'cancelled':
      return (
        <>
          <dt>Cancelled</dt>
          <dd>
            <Time at={state.cancelledAt} now={now} />
          </dd>
        </>
      )
    default:
      return null
  }
}

type DeliveriesProps = {
  readonly messageId: string
  readonly sent: Sent
  readonly now: Instant
}

const Deliveries = ({ messageId, sent, now }: DeliveriesProps) => (
  <section class="card flush" aria-labelledby="sent">
    <h2 id="sent">
      Events and deliveries{' '}
      {sent.hasMore && <a href={`${BASE}/deliveries?message=${messageId}`}>Show all</a>}
    </h2>
    {sent.details.length === 0 ? (
      <Empty title="No deliveries yet">
        <p>
          The end of a message is an event. Each subscribed webhook gets one delivery of this event.
        </p>
      </Empty>
    ) : (
      <div class="scroll" role="group" aria-labelledby="sent" tabindex={0}>
        <DeliveryTable details={sent.details} webhooks={sent.webhooks} now={now} showsWebhook />
      </div>
    )}
  </section>
)
