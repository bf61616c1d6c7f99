import type { DeliveryDetail, DeliveryStory, Webhook } from '@org/agent-messaging-core'
import { deliveryStatusOf } from '@org/agent-messaging-core/host'
import type { DeliveryAttempt } from '@org/agent-messaging-core/storage'
import { z } from 'zod'
import { JsonView } from '../parts/json-view.js'
import { DeliveryLink, NextAttempt } from './delivery-table.js'
import { can } from '../parts/input.js'
import { SessionLink } from '../messages/conversation.js'
import { messagePath } from '../messages/message-table.js'
import {
  CopyButton,
  Facts,
  formatDuration,
  FullTime,
  Id,
  Post,
  Status,
  WholeId,
  Card,
} from '../parts/parts.js'
import { StoryText } from '../parts/story.js'
import { Live } from '../parts/table.js'
import { deliveryLabel, outcomeLabel, WebhookName } from '../parts/wording.js'
import { eventPath } from '../webhooks/event-list.js'
import { useView } from '../parts/zone.js'

type DeliveryPageProps = {
  readonly detail: DeliveryDetail
  readonly webhook: Webhook | undefined
}

/** Shows the state of a delivery, its attempts and its body. */
export function DeliveryPage({ story, detail, webhook }: DeliveryStory) {
  const { delivery, attempts, body } = detail
  return (
    <>
      <h1>
        <code>{delivery.event}</code>
      </h1>
      <div class="halves">
        <Live every={2_000}>
          <StoryText story={story} />
          <Actions detail={detail} webhook={webhook} />
          <DeliveryFacts detail={detail} webhook={webhook} />
          <Card id="attempts" title="Attempts">
            <ol class="timeline">
              {attempts.map((attempt) => (
                <Attempt attempt={attempt} body={body} />
              ))}
              <NextStep detail={detail} webhook={webhook} />
            </ol>
          </Card>
        </Live>
        <Card id="body" title="Body">
          <p class="muted small">
            Indented for reading. Each attempt sends and signs the same bytes, without this white
            space. The button copies the bytes.
          </p>
          <JsonView text={body} what="body" />
        </Card>
      </div>
    </>
  )
}

function Actions({ detail: { delivery }, webhook }: DeliveryPageProps) {
  const isOpen = deliveryStatusOf(delivery.state) === 'pending'
  const post = (action: string, label: string, style?: string) => (
    <Post
      call="deliveries.redeliver"
      to={`/deliveries/${delivery.id}/${action}`}
      id={action}
      class={style}
    >
      {label}
    </Post>
  )
  return (
    <div class="buttons">
      {webhook && post('redeliver', isOpen ? 'Send now' : 'Redeliver', 'primary')}
      {isOpen && delivery.orderKey === undefined && post('cancel', 'Cancel')}
      {isOpen && delivery.orderKey !== undefined && post('skip', 'Skip')}
    </div>
  )
}

function DeliveryFacts({ detail: { delivery, body }, webhook }: DeliveryPageProps) {
  const { id, eventId, state, createdAt } = delivery
  const { messageId, sessionId, agentId } = causeIn(body)
  const canOpen = can(useView().c, 'messages.list')
  return (
    <Facts
      facts={{
        Status: (
          <>
            <Status {...deliveryLabel(state)} />{' '}
            {state.kind === 'cancelled' && <span class="muted">{reasons[state.reason]}</span>}
          </>
        ),
        Webhook: <WebhookName webhook={webhook} />,
        Message: messageId !== undefined && (
          <Id id={messageId} {...(canOpen && { href: messagePath(messageId) })} />
        ),
        Session:
          sessionId !== undefined &&
          agentId !== undefined &&
          (canOpen ? (
            <SessionLink agent={agentId} sessionId={sessionId} />
          ) : (
            <bdi>{sessionId}</bdi>
          )),
        'Next attempt': state.kind === 'pending' && (
          <NextAttempt at={state.nextAttemptAt} webhook={webhook} />
        ),
        'Waits for': state.kind === 'waiting' && <DeliveryLink id={state.blockedBy} />,
        Created: <FullTime at={createdAt} />,
        'Delivery ID': <WholeId id={id} />,
        'Event ID': <WholeId id={eventId} href={eventPath(eventId)} />,
      }}
    />
  )
}

/** The parts of an event's body that name its cause. */
const schema = z.object({
  data: z.object({
    messageId: z.uuid().optional(),
    sessionId: z.string().optional(),
    agentId: z.uuid().optional(),
  }),
})

function causeIn(body: string) {
  try {
    return schema.safeParse(JSON.parse(body)).data?.data ?? {}
  } catch {
    return {}
  }
}

const reasons = {
  webhook_deleted: 'the webhook was deleted',
  webhook_disabled: 'the webhook was disabled for too long, or had too many waiting deliveries',
  operator: 'cancelled by an operator',
  skipped: 'skipped, so that the next delivery of its session could be sent',
}

function Attempt({ attempt, body }: { readonly attempt: DeliveryAttempt; readonly body: string }) {
  const { attemptNumber, startedAt, durationMs, url, outcome, requestHeaders } = attempt
  const label = outcomeLabel(outcome)
  const curl = curlOf(attempt, body)
  const answer = outcome.kind === 'unreachable' ? outcome.detail : outcome.responseBody
  return (
    <li class={label.tone}>
      <p>
        <strong>Attempt {attemptNumber}</strong>
        <Status {...label} />
        <FullTime at={startedAt} />
        <span class="muted nowrap">{formatDuration(durationMs)}</span>
      </p>
      {url !== undefined && <p class="muted">{url}</p>}
      {answer !== '' && <JsonView text={answer} what={`answer of attempt ${attemptNumber}`} />}
      {requestHeaders && (
        <details>
          <summary>Request headers</summary>
          <pre tabindex={0}>
            {Object.entries(requestHeaders)
              .map(([name, value]) => `${name}: ${value}`)
              .join('\n')}
          </pre>
        </details>
      )}
      {curl !== undefined && (
        <details>
          <summary>As a curl command</summary>
          <div class="code">
            <pre tabindex={0}>{curl}</pre>
            <CopyButton text={curl} what={`attempt ${attemptNumber} as curl`} />
          </div>
          <p class="muted small">Without the signature and without secret headers.</p>
        </details>
      )}
    </li>
  )
}

/** Shows the next attempt, or the end of the schedule. */
function NextStep({ detail: { delivery, attempts }, webhook }: DeliveryPageProps) {
  const { state } = delivery
  switch (state.kind) {
    case 'pending':
      return (
        <li class="busy">
          <p>
            Attempt {attempts.length + 1}:{' '}
            <NextAttempt at={state.nextAttemptAt} webhook={webhook} />
          </p>
        </li>
      )
    case 'sending':
      return <li class="busy">Attempt {attempts.length + 1} is being sent</li>
    case 'waiting':
      return (
        <li class="busy">
          Waits for <DeliveryLink id={state.blockedBy} />, which is earlier in its session. Skip
          that delivery to go on without it.
        </li>
      )
    case 'exhausted':
      return <li class="bad">The retry schedule has ended. Redeliver starts a new schedule.</li>
    default:
      return null
  }
}

const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Headers that would be wrong or secret in a copy. Secret values are stored as `[redacted]`. */
const isLeftOut = (name: string, value: string) =>
  value.includes('[redacted]') || /signature/i.test(name)

/**
 * Returns a shell command that sends the request of an attempt again, without its secrets: no
 * signature, no custom header, and no part of the URL that can contain a password. Undefined if
 * the parts of the request are not stored.
 */
export function curlOf({ url, requestHeaders }: DeliveryAttempt, body: string) {
  if (url === undefined || requestHeaders === undefined) return undefined
  const headers = Object.entries(requestHeaders)
    .filter(([name, value]) => !isLeftOut(name, value))
    .map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)
  return [`curl -X POST ${quoted(url)}`, ...headers, `--data-binary ${quoted(body)}`].join(
    ' \\\n  ',
  )
}
