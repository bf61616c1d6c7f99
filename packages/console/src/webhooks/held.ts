import { circuitAt } from '@org/agent-messaging-core'
import type { Instant, MessagingService, Page, PageOf, Webhook } from '@org/agent-messaging-core'
import { ResultAsync } from 'neverthrow'

/** True if the webhook keeps its deliveries: disabled, paused, or the circuit is not closed. */
export const holdsDeliveries = ({ status, isPaused, health }: Webhook, now: Instant): boolean =>
  status.kind === 'disabled' || isPaused || circuitAt(health, now) !== 'closed'

/** Lists the pending deliveries of the webhooks that keep theirs, newest first. */
export const listHeld = (
  { deliveries, now }: Pick<MessagingService, 'deliveries' | 'now'>,
  projectId: string,
  webhooks: readonly Webhook[],
  page: PageOf,
): ReturnType<MessagingService['deliveries']['list']> =>
  ResultAsync.combine(
    webhooks
      .filter((webhook) => holdsDeliveries(webhook, now()))
      .map(({ id }) => deliveries.list({ projectId, webhookId: id, status: 'pending' }, page)),
  ).map((pages) => mergePages(pages, page.limit))

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
