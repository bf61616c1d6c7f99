import {
  MessagingError,
  type DeliveryDetail,
  type Message,
  type MessageRun,
  type Webhook,
  type WebhookDelivery,
} from '@org/agent-messaging-core'
import { isFinal } from '@org/agent-messaging-core/storage'
import { type ConsoleDeps, newRoutes, type PageRequest } from '../context.js'
import { can, idIn, projectIn } from '../parts/input.js'
import { show, showFound } from '../parts/layout.js'
import { CONVERSATIONS, Person, sessionsPath } from './message-table.js'
import { BASE } from '../options.js'
import { type Columns, Empty, Live, TableSection } from '../parts/table.js'
import { need } from '../access/sign-in.js'
import { MessageActions, SessionLink, sessionPath } from './conversation.js'
import { deliveryColumns, detailsOf } from '../deliveries/delivery-table.js'
import { withKnownName } from '../agents.js'
import { Facts, formatDuration, Status, Time, WholeId } from '../parts/parts.js'
import { Questions } from './questions.js'
import { messageLabel, runLabel, shortened } from '../parts/wording.js'

export const messageRoutes = (d: ConsoleDeps) =>
  newRoutes().get('/messages/:id', need('project:message'), (c) => messagePage(c, d))

const MAX_DELIVERIES = 25
/** UTF-16 units. */
const SHOWN_ERROR = 500
const MAX_WEBHOOKS = 100

type Sent = {
  readonly details: readonly DeliveryDetail[]
  readonly hasMore: boolean
  readonly webhooks: readonly Webhook[]
}

/** Shows one message with its answer or error, its runs, its events and its deliveries. */
const messagePage = (c: PageRequest, d: ConsoleDeps) =>
  showFound(c, readMessage(c, d), ({ message, agent, runs, sent }) =>
    show(
      c,
      { title: `Message ${message.id}`, section: 'Conversations' },
      <>
        <p class="crumbs">
          <a href={CONVERSATIONS}>Conversations</a> /{' '}
          <a href={sessionPath(agent.name, message.sessionId)}>session</a> / message
        </p>
        <h1>Message</h1>
        <Live every={isFinal(message.state) ? 5_000 : 1_000}>
          <MessageActions agent={agent} message={message} />
          <div class="columns">
            <Texts message={message} />
            <MessageFacts message={message} agent={agent.name} />
          </div>
          {runs.length > 0 && <Runs runs={runs} />}
          {sent && <Deliveries messageId={message.id} sent={sent} />}
        </Live>
      </>,
    ),
  )

async function readMessage(c: PageRequest, { service }: ConsoleDeps) {
  const projectId = projectIn(c)
  const { data } = await service.messages.search({
    projectId,
    messageId: idIn(c.req.param('id')),
    limit: 1,
  })
  const [found] = data
  if (!found) throw new MessagingError({ kind: 'message_not_found' })
  const agent = await service.agents.get({ projectId, agent: found.message.agentId })
  const ref = { projectId, agent: agent.id, messageId: found.message.id }
  const runs = await service.messages.runs(ref)
  const sent = can(c, 'project:webhooks')
    ? await readDeliveries(service, projectId, found.deliveries)
    : undefined
  return { message: found.message, agent: withKnownName(c, agent, agent.id), runs, sent }
}

async function readDeliveries(
  service: ConsoleDeps['service'],
  projectId: string,
  deliveries: readonly WebhookDelivery[],
) {
  const details = await detailsOf(service, deliveries.slice(0, MAX_DELIVERIES))
  const webhooks =
    deliveries.length === 0
      ? []
      : (await service.webhooks.list({ projectId, limit: MAX_WEBHOOKS })).data
  const hasMore = deliveries.length > MAX_DELIVERIES
  return { details, hasMore, webhooks } satisfies Sent
}

const Texts = ({ message: whole }: { readonly message: Message }) => {
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
          <Questions message={whole} />
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

type FactsProps = { readonly message: Message; readonly agent: string }

const MessageFacts = ({ message, agent }: FactsProps) => {
  const { id, state, sessionId, executionPrincipal, createdAt } = message
  return (
    <Facts
      facts={{
        State: <Status {...messageLabel(state)} />,
        Session: <SessionLink agent={agent} sessionId={sessionId} />,
        Agent: <a href={sessionsPath(agent)}>{agent}</a>,
        For: <Person principal={executionPrincipal} />,
        Sent: <Time at={createdAt} />,
        Answered: state.kind === 'responded' && (
          <>
            <Time at={state.respondedAt} />, in {formatDuration(state.responseTimeMs)}
          </>
        ),
        Failed: state.kind === 'failed' && <Time at={state.failedAt} />,
        Cancelled: state.kind === 'cancelled' && <Time at={state.cancelledAt} />,
        'Message ID': <WholeId id={id} />,
      }}
    />
  )
}

const Runs = ({ runs }: { readonly runs: readonly MessageRun[] }) => (
  <TableSection id="runs" title="Runs" rows={runs} columns={runColumns} />
)

const runColumns: Columns<MessageRun> = {
  Run: ({ attempt }) => attempt,
  End: ({ reason }) => <Status {...runLabel(reason)} />,
  Started: { at: ({ startedAt }) => startedAt },
  Took: ({ startedAt, endedAt }) => (endedAt ? formatDuration(endedAt - startedAt) : '–'),
  Error: {
    class: 'any',
    dir: 'auto',
    cell: ({ error }) =>
      error ? (
        <>
          <code>{error.code}</code> {shortened(error.message, SHOWN_ERROR)}
        </>
      ) : (
        '–'
      ),
  },
  Tokens: ({ usage }) =>
    usage ? `${usage.inputTokens ?? 0} in, ${usage.outputTokens ?? 0} out` : '–',
}

type DeliveriesProps = { readonly messageId: string; readonly sent: Sent }

const Deliveries = ({ messageId, sent }: DeliveriesProps) => (
  <TableSection
    id="sent"
    title={
      <>
        Events and deliveries{' '}
        {sent.hasMore && <a href={`${BASE}/deliveries?message=${messageId}`}>Show all</a>}
      </>
    }
    rows={sent.details}
    columns={deliveryColumns(sent.webhooks)}
    empty={
      <Empty title="No deliveries yet">
        <p>
          The end of a message is an event. Each subscribed webhook gets one delivery of this event.
        </p>
      </Empty>
    }
  />
)
