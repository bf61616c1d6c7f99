import { BASE } from '../context.js'
import type {
  DeliveryDetail,
  Instant,
  MessagingService,
  Page,
  Webhook,
  WebhookDelivery,
} from '@org/agent-messaging-core'
import { unless, circuitAt } from '@org/agent-messaging-core/host'
import type { PageOf } from '@org/agent-messaging-core/storage'
import { Id, Status, Time } from '../parts/parts.js'
import { deliveryLabel, outcomeLabel, WebhookName } from '../parts/wording.js'
import type { Columns } from '../parts/table.js'
import { useView } from '../parts/zone.js'

/** Reads the last outcomes, which a list does not contain. A purged delivery is left out. */
export async function detailsOf(
  { deliveries }: MessagingService,
  page: readonly WebhookDelivery[],
): Promise<readonly DeliveryDetail[]> {
  const details = page.map(({ projectId, id }) =>
    deliveries.get({ projectId, deliveryId: id }).catch(unless('delivery_not_found')),
  )
  return (await Promise.all(details)).flatMap((detail) => detail ?? [])
}

/**
 * The columns of deliveries, with the webhooks that exist. With `only`, all deliveries are of this
 * webhook, and no column names it.
 */
export function deliveryColumns(
  webhooks: readonly Webhook[],
  only?: Webhook,
): Columns<DeliveryDetail> {
  const byId = new Map(webhooks.map((webhook) => [webhook.id, webhook]))
  const webhookOf = ({ delivery }: DeliveryDetail) => only ?? byId.get(delivery.webhookId)
  return {
    Delivery: ({ delivery: { id } }) => <DeliveryLink id={id} />,
    Status: ({ delivery }) => <Status {...deliveryLabel(delivery.state)} />,
    Event: ({ delivery }) => <code>{delivery.event}</code>,
    'Last answer': ({ attempts }) => {
      const { tone, text } = outcomeLabel(attempts.at(-1)?.outcome)
      return <span class={`answer ${tone}`}>{text}</span>
    },
    Attempts: { class: 'number', cell: ({ delivery }) => delivery.attemptCount },
    Webhook: !only && ((detail) => <WebhookName webhook={webhookOf(detail)} />),
    Created: { at: ({ delivery }) => delivery.createdAt },
    'Next attempt': {
      class: 'nowrap',
      cell: (detail) => {
        const { state } = detail.delivery
        if (state.kind === 'waiting')
          return (
            <>
              after <DeliveryLink id={state.blockedBy} />
            </>
          )
        if (state.kind !== 'pending') return '–'
        return <NextAttempt at={state.nextAttemptAt} webhook={webhookOf(detail)} />
      },
    },
  }
}

export const DeliveryLink = ({ id }: { readonly id: string }) => (
  <Id id={id} href={`${BASE}/deliveries/${id}`} />
)

type NextAttemptProps = { readonly at: Instant; readonly webhook: Webhook | undefined }

/**
 * Shows when a pending delivery is tried next. A disabled or failing webhook delays its deliveries.
 */
export function NextAttempt({ at, webhook }: NextAttemptProps) {
  const { now } = useView()
  if (webhook?.status.kind === 'disabled') return <>once enabled</>
  const circuit = webhook?.health.circuit
  const until = circuit?.kind === 'open' ? Math.max(at, circuit.until) : at
  return until > now ? <Time at={until} /> : <>due now</>
}

/** True if the webhook keeps its deliveries: disabled, paused, or the circuit is not closed. */
export const holdsDeliveries = ({ status, isPaused, health }: Webhook, now: Instant) =>
  status.kind === 'disabled' || isPaused || circuitAt(health, now) !== 'closed'

/** Lists the pending deliveries of the webhooks that keep theirs, newest first. */
export async function listHeld(
  { deliveries, host }: Pick<MessagingService, 'deliveries' | 'host'>,
  projectId: string,
  webhooks: readonly Webhook[],
  page: PageOf,
): Promise<Page<WebhookDelivery>> {
  const lists = webhooks
    .filter((webhook) => holdsDeliveries(webhook, host.now()))
    .map(({ id }) => deliveries.list({ projectId, webhookId: id, status: 'pending', ...page }))
  return mergePages(await Promise.all(lists), page.limit)
}

/**
 * Merges the pages of several lists, newest first. A list that stopped early has older rows, so
 * the merged page ends there too.
 */
export function mergePages<T extends { readonly id: string }>(
  pages: readonly Page<T>[],
  limit: number,
): Page<T> {
  const ends = pages.flatMap(({ nextCursor }) => nextCursor ?? []).toSorted()
  const end = ends.at(-1)
  const data = pages
    .flatMap((page) => page.data)
    .filter(({ id }) => end === undefined || id >= end)
    .toSorted((a, b) => (a.id < b.id ? 1 : -1))
  const last = data[limit - 1]
  return data.length > limit && last
    ? { data: data.slice(0, limit), nextCursor: last.id }
    : { data, nextCursor: end ?? null }
}
