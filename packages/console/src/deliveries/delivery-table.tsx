import type {
  DeliveryDetail,
  Instant,
  MessagingService,
  Webhook,
  WebhookDelivery,
} from '@org/agent-messaging-core'
import { err, ok, ResultAsync } from 'neverthrow'
import { BASE } from '../options.js'
import { Id, Status, Time } from '../parts/parts.js'
import { WebhookName } from '../webhooks/webhook-name.js'
import { deliveryLabel, outcomeLabel } from '../parts/wording.js'

/** Reads the last outcomes, which a list does not contain. A purged delivery is left out. */
export const detailsOf = ({ deliveries }: MessagingService, page: readonly WebhookDelivery[]) =>
  ResultAsync.combine(
    page.map(({ projectId, id }) =>
      deliveries
        .get({ projectId, deliveryId: id })
        .map((detail) => [detail])
        .orElse((error) => (error.kind === 'delivery_not_found' ? ok([]) : err(error))),
    ),
  ).map((details) => details.flat())

type TableProps = {
  readonly details: readonly DeliveryDetail[]
  /** The webhooks of the deliveries. A missing one was deleted. */
  readonly webhooks: readonly Webhook[]
  readonly now: Instant
  /** False if all deliveries have the same webhook. */
  readonly showsWebhook: boolean
}

export function DeliveryTable({ details, webhooks, now, showsWebhook }: TableProps) {
  const byId = new Map(webhooks.map((webhook) => [webhook.id, webhook]))
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Delivery</th>
          <th scope="col">Status</th>
          <th scope="col">Event</th>
          <th scope="col">Last answer</th>
          <th scope="col" class="number">
            Attempts
          </th>
          {showsWebhook && <th scope="col">Webhook</th>}
          <th scope="col">Created</th>
          <th scope="col">Next attempt</th>
        </tr>
      </thead>
      <tbody>
        {details.map((detail) => (
          <DeliveryRow
            detail={detail}
            webhook={byId.get(detail.delivery.webhookId)}
            now={now}
            showsWebhook={showsWebhook}
          />
        ))}
      </tbody>
    </table>
  )
}

type RowProps = Pick<TableProps, 'now' | 'showsWebhook'> & {
  readonly detail: DeliveryDetail
  readonly webhook: Webhook | undefined
}

function DeliveryRow({ detail: { delivery, attempts }, webhook, now, showsWebhook }: RowProps) {
  const { id, event, state, attemptCount, createdAt } = delivery
  const status = deliveryLabel(state)
  const answer = outcomeLabel(attempts.at(-1)?.outcome)
  return (
    <tr>
      <th scope="row">
        <Id id={id} href={`${BASE}/deliveries/${id}`} />
      </th>
      <td data-label="Status">
        <Status tone={status.tone}>{status.text}</Status>
      </td>
      <td data-label="Event">
        <code>{event}</code>
      </td>
      <td data-label="Last answer">
        <span class={`answer ${answer.tone}`}>{answer.text}</span>
      </td>
      <td class="number" data-label="Attempts">
        {attemptCount}
      </td>
      {showsWebhook && (
        <td data-label="Webhook">
          {webhook === undefined ? (
            <span class="muted">deleted, or a push config</span>
          ) : (
            <WebhookName webhook={webhook} />
          )}
        </td>
      )}
      <td data-label="Created">
        <Time at={createdAt} now={now} />
      </td>
      <td class="nowrap" data-label="Next attempt">
        <NextStep state={state} webhook={webhook} now={now} />
      </td>
    </tr>
  )
}

function NextStep({ state, webhook, now }: NextStepProps) {
  if (state.kind === 'waiting')
    return (
      <>
        after <Blocker id={state.blockedBy} />
      </>
    )
  if (state.kind !== 'pending') return <>–</>
  return <NextAttempt at={state.nextAttemptAt} webhook={webhook} now={now} />
}

type NextStepProps = Pick<RowProps, 'webhook' | 'now'> & {
  readonly state: WebhookDelivery['state']
}

/** A link to the delivery that another one waits for. */
export const Blocker = ({ id }: { readonly id: string }) => (
  <Id id={id} href={`${BASE}/deliveries/${id}`} />
)

type NextAttemptProps = {
  readonly at: Instant
  readonly webhook: Webhook | undefined
  readonly now: Instant
}

/**
 * Shows when a pending delivery is tried next. A disabled or failing webhook delays its deliveries.
 */
export function NextAttempt({ at, webhook, now }: NextAttemptProps) {
  if (webhook?.status.kind === 'disabled') return <>once enabled</>
  const circuit = webhook?.health.circuit
  const until = circuit?.kind === 'open' ? Math.max(at, circuit.until) : at
  return until > now ? <Time at={until} now={now} /> : <>due now</>
}
