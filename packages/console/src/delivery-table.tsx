import type {
  DeliveryDetail,
  Instant,
  MessagingService,
  Webhook,
  WebhookDelivery,
} from '@org/agent-messaging-core'
import { err, ok, ResultAsync } from 'neverthrow'
import { BASE } from './options.js'
import { NextAttempt } from './next-attempt.js'
import { Id, Status, Time } from './parts.js'
import { deliveryWords, outcomeWords } from './wording.js'

/** What the table shows of deliveries: a page of a list does not say what the last attempt came to. */
export const detailsOf = ({ deliveries }: MessagingService, page: readonly WebhookDelivery[]) =>
  ResultAsync.combine(
    page.map(
      ({ projectId, id }) =>
        deliveries
          .get({ projectId, deliveryId: id })
          .map((detail) => [detail])
          .orElse((error) => (error.kind === 'delivery_not_found' ? ok([]) : err(error))), // purged since
    ),
  ).map((details) => details.flat())

type TableProps = {
  readonly details: readonly DeliveryDetail[]
  /** Those that the deliveries are for; one that is not among them was deleted. */
  readonly webhooks: readonly Webhook[]
  readonly now: Instant
  /** Not where all are for the same. */
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
  const status = deliveryWords(state)
  const answer = outcomeWords(attempts.at(-1)?.outcome)
  return (
    <tr>
      <th scope="row">
        <Id id={id} href={`${BASE}/deliveries/${id}`} />
      </th>
      <td data-label="Status">
        <Status tone={status.tone}>{status.words}</Status>
      </td>
      <td data-label="Event">
        <code>{event}</code>
      </td>
      <td data-label="Last answer">
        <span class={`answer ${answer.tone}`}>{answer.words}</span>
      </td>
      <td class="number" data-label="Attempts">
        {attemptCount}
      </td>
      {showsWebhook && (
        <td data-label="Webhook">
          {webhook === undefined ? (
            <span class="muted">deleted</span>
          ) : (
            <a class="url" href={`${BASE}/webhooks/${webhook.id}`}>
              {webhook.url}
            </a>
          )}
        </td>
      )}
      <td data-label="Created">
        <Time at={createdAt} now={now} />
      </td>
      <td class="nowrap" data-label="Next attempt">
        {state.kind === 'pending' ? (
          <NextAttempt at={state.nextAttemptAt} webhook={webhook} now={now} />
        ) : (
          '–'
        )}
      </td>
    </tr>
  )
}
