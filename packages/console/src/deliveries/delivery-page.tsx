import { deliveryStatusOf } from '@org/agent-messaging-core'
import type { DeliveryAttempt, DeliveryDetail, Instant, Webhook } from '@org/agent-messaging-core'
import { curlOf } from './curl.js'
import { CauseFacts } from './event-cause.js'
import { JsonView } from '../parts/json-view.js'
import { BASE } from '../options.js'
import { Blocker, NextAttempt } from './delivery-table.js'
import { CopyButton, formatDuration, FullTime, refreshed, Status, WholeId } from '../parts/parts.js'
import { WebhookName } from '../webhooks/webhook-name.js'
import { deliveryLabel, outcomeLabel } from '../parts/wording.js'

type DeliveryPageProps = {
  readonly detail: DeliveryDetail
  readonly webhook: Webhook | undefined
  /** True if the key of the visit can open messages and sessions. */
  readonly canOpen: boolean
  readonly now: Instant
  readonly path: string
}

/** Shows the state of a delivery, its attempts and its body. */
export function DeliveryPage({ detail, webhook, canOpen, now, path }: DeliveryPageProps) {
  const { delivery, attempts, body } = detail
  return (
    <>
      <p class="crumbs">
        <a href={`${BASE}/deliveries`}>Deliveries</a> / delivery
      </p>
      <h1>
        <code>{delivery.event}</code>
      </h1>
      <div class="halves">
        <div {...refreshed('live', 2_000, path)}>
          <Actions detail={detail} webhook={webhook} />
          <Facts detail={detail} webhook={webhook} canOpen={canOpen} now={now} />
          <section class="card" aria-labelledby="attempts">
            <h2 id="attempts">Attempts</h2>
            <ol class="timeline">
              {attempts.map((attempt) => (
                <Attempt attempt={attempt} body={body} now={now} />
              ))}
              <NextStep detail={detail} webhook={webhook} now={now} />
            </ol>
          </section>
        </div>
        <section class="card" aria-labelledby="body">
          <h2 id="body">Body</h2>
          <p class="muted small">
            Indented for reading. Each attempt sends and signs the same bytes, without this white
            space. The button copies the bytes.
          </p>
          <JsonView text={body} what="body" />
        </section>
      </div>
    </>
  )
}

function Actions({ detail: { delivery }, webhook }: Pick<DeliveryPageProps, 'detail' | 'webhook'>) {
  const isOpen = deliveryStatusOf(delivery.state) === 'pending'
  const post = (action: string, label: string, style = '') => (
    <form method="post" action={`${BASE}/deliveries/${delivery.id}/${action}`}>
      <button id={action} class={style}>
        {label}
      </button>
    </form>
  )
  return (
    <div class="buttons">
      {webhook && post('redeliver', isOpen ? 'Send now' : 'Redeliver', 'primary')}
      {isOpen && delivery.orderKey === undefined && post('cancel', 'Cancel')}
      {isOpen && delivery.orderKey !== undefined && post('skip', 'Skip')}
    </div>
  )
}

function Facts({
  detail: { delivery, body },
  webhook,
  canOpen,
  now,
}: Pick<DeliveryPageProps, 'detail' | 'webhook' | 'canOpen' | 'now'>) {
  const { id, eventId, state, createdAt } = delivery
  const { tone, text } = deliveryLabel(state)
  return (
    <dl class="facts-list card">
      <dt>Status</dt>
      <dd>
        <Status tone={tone}>{text}</Status>{' '}
        {state.kind === 'cancelled' && <span class="muted">{reasons[state.reason]}</span>}
      </dd>
      <dt>Webhook</dt>
      <dd>
        {webhook ? (
          <WebhookName webhook={webhook} />
        ) : (
          <span class="muted">deleted, or a push config</span>
        )}
      </dd>
      <CauseFacts body={body} canOpen={canOpen} />
      {state.kind === 'pending' && (
        <>
          <dt>Next attempt</dt>
          <dd>
            <NextAttempt at={state.nextAttemptAt} webhook={webhook} now={now} />
          </dd>
        </>
      )}
      {state.kind === 'waiting' && (
        <>
          <dt>Waits for</dt>
          <dd>
            <Blocker id={state.blockedBy} />
          </dd>
        </>
      )}
      <dt>Created</dt>
      <dd>
        <FullTime at={createdAt} now={now} />
      </dd>
      <dt>Delivery ID</dt>
      <dd>
        <WholeId id={id} />
      </dd>
      <dt>Event ID</dt>
      <dd>
        <WholeId id={eventId} />
      </dd>
    </dl>
  )
}

const reasons = {
  webhook_deleted: 'the webhook was deleted',
  webhook_disabled: 'the webhook was disabled for too long, or had too many waiting deliveries',
  operator: 'cancelled by an operator',
  skipped: 'skipped, so that the next delivery of its session could be sent',
}

function Attempt({
  attempt,
  body,
  now,
}: {
  readonly attempt: DeliveryAttempt
  readonly body: string
  readonly now: Instant
}) {
  const { attemptNumber, startedAt, durationMs, url, outcome, requestHeaders } = attempt
  const { tone, text } = outcomeLabel(outcome)
  const curl = curlOf(attempt, body)
  const answer = outcome.kind === 'unreachable' ? outcome.detail : outcome.responseBody
  return (
    <li class={tone}>
      <p>
        <strong>Attempt {attemptNumber}</strong>
        <Status tone={tone}>{text}</Status>
        <FullTime at={startedAt} now={now} />
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
function NextStep({
  detail: { delivery, attempts },
  webhook,
  now,
}: Pick<DeliveryPageProps, 'detail' | 'webhook' | 'now'>) {
  const { state } = delivery
  switch (state.kind) {
    case 'pending':
      return (
        <li class="busy">
          <p>
            Attempt {attempts.length + 1}:{' '}
            <NextAttempt at={state.nextAttemptAt} webhook={webhook} now={now} />
          </p>
        </li>
      )
    case 'sending':
      return <li class="busy">Attempt {attempts.length + 1} is being sent</li>
    case 'waiting':
      return (
        <li class="busy">
          Waits for <Blocker id={state.blockedBy} />, which is earlier in its session. Skip that
          delivery to go on without it.
        </li>
      )
    case 'exhausted':
      return <li class="bad">The retry schedule has ended. Redeliver starts a new schedule.</li>
    default:
      return null
  }
}
