import type { Instant } from '@org/agent-messaging-core'
import {
  ClaimBudget,
  claimedDelivery,
  leaseEnd,
  toTrace,
  toWebhook,
  type ClaimDue,
  type ClaimedDeliveries,
  type ClaimedDelivery,
  type ClaimedDeliveryRow,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import { webhookList } from '@org/agent-messaging-sql-kit'
import type { Queries } from '../database/gateway.js'
import { call, jsonRows } from '../database/sql.js'
import { hooksBySeq } from '../webhooks/receivers.js'

/**
 * Webhooks that one claim looks at. Bounds a claim when thousands of webhooks have due deliveries
 * and no room.
 */
const MAX_WEBHOOKS = 1_000
/** Webhooks that one statement looks at, after the first one of a claim. */
const WEBHOOKS_AT_ONCE = 16

/** A webhook with the due times of its oldest first attempts and retries. */
type DueWebhook = WebhookRow & {
  readonly firsts: readonly Instant[]
  readonly retries: readonly Instant[]
}
type DueQuery = {
  readonly now: Instant
  readonly most: number
  readonly mostWebhooks: number
  readonly except: readonly string[]
}
/** Ranges of webhooks, each behind `after` and up to `upTo`. */
type Ranges = { readonly afters: readonly number[]; readonly upTos: readonly number[] }
/** Rows of webhooks with their floors. */
type Floors = { readonly floors: string }
/** A number of deliveries of one webhook to claim, all first attempts or all retries. */
type Share = {
  readonly webhook: DueWebhook
  readonly isRetry: boolean
  readonly count: number
  /** The oldest due time. */
  readonly floor: Instant
}

/** Reads the webhooks with their due times in one snapshot. */
const dueCall = call<DueQuery & Ranges & Floors, DueWebhook>(`
  select due.firsts, due.retries, ${webhookList}
  from (
    select range.place, found.*
    from unnest(@afters::bigint[], @upTos::bigint[]) with ordinality as range (after, up_to, place)
      cross join lateral agent_messaging.due_webhooks(after, up_to, @now, @mostWebhooks, @most,
        @except, @floors) found
    limit @mostWebhooks) due
  cross join lateral (select (due.webhook).*) w
  order by due.place, w.seq`)

type ClaimedRow = ClaimedDeliveryRow & {
  readonly seq: number
  readonly webhookSeq: number
  readonly receiverSeq: number
  readonly eventId: string
  readonly event: string
  readonly body: string
  readonly trace: string | null
  readonly wasDueAt: Instant
}
const claimSql = call<{ readonly shares: string; readonly now: Instant }, ClaimedRow>(
  'select * from agent_messaging.claim_deliveries(@shares, @now)',
)

/**
 * `DeliveryStore.claimDue`. A claim visits the webhooks that have due deliveries in a circle, and
 * starts behind the webhook where the previous claim of this process ended. The claim decides how
 * many deliveries each webhook gets, then claims all of them in one commit.
 */
export class DueClaims {
  readonly #floors = new DueFloors()
  /** The `seq` of the webhook that was served last, or that a bounded claim looked at last. */
  #lastServed = 0
  /** Webhooks that the last claim served. The next claim first looks at one more. */
  #served = WEBHOOKS_AT_ONCE

  async claim(db: Queries, query: ClaimDue): Promise<ClaimedDeliveries> {
    const budget = new ClaimBudget(query)
    const shares = await this.#share(db, query, budget)
    this.#floors.set(shares, query.now)
    return { deliveries: await claimShares(db, shares, query), skipped: budget.filled }
  }

  /** Shares the claim among webhooks. Visits each webhook once. */
  async #share(db: Queries, query: ClaimDue, budget: ClaimBudget): Promise<Share[]> {
    const asked = {
      now: query.now,
      most: Math.min(query.perWebhook, query.limit),
      ...this.#floors.at(query.now),
    }
    const start = this.#lastServed
    const shares: Share[] = []
    let last = start
    let visited = 0
    let mostWebhooks = this.#served + 1
    let isComplete = false
    while (!isComplete && budget.left > 0 && visited < MAX_WEBHOOKS) {
      const except = [...query.except, ...budget.spentProjects]
      const parameters = { ...asked, ...rangesFrom(last, start), mostWebhooks, except }
      const webhooks: readonly DueWebhook[] = await db.all(dueCall, parameters)
      for (const webhook of webhooks) {
        const found = sharesOf(webhook, budget)
        if (found.length > 0) this.#lastServed = webhook.seq
        shares.push(...found)
      }
      visited += webhooks.length
      last = webhooks.at(-1)?.seq ?? start
      isComplete = webhooks.length < mostWebhooks || last === start
      mostWebhooks = Math.max(WEBHOOKS_AT_ONCE, budget.left)
    }
    // Webhooks without room must not hide those behind them from the next claim.
    if (visited >= MAX_WEBHOOKS && budget.left > 0) this.#lastServed = last
    this.#served = new Set(shares.map(({ webhook }) => webhook)).size
    return shares
  }
}

/** From `last` to the end, and from the beginning to `start`. */
function rangesFrom(last: number, start: number): Ranges {
  if (last < start) return { afters: [last], upTos: [start] }
  return { afters: [last, 0], upTos: [Number.MAX_SAFE_INTEGER, start] }
}

/** Floors are used for this time. Then one claim looks at all due deliveries again. */
const FLOORS_LAST_MS = 1_000
/** Clocks differ by up to 5 s and a commit takes up to 10 s, so a delivery can appear this late. */
const LATE_MS = 15_000

/** The oldest due time of each webhook of the last claim. The next claim reads from there on. */
class DueFloors {
  readonly #floors = new Map<number, Instant>()
  #since = -Infinity

  at(now: Instant): Floors {
    if (Math.abs(now - this.#since) >= FLOORS_LAST_MS) this.#floors.clear()
    return { floors: jsonRows([...this.#floors].map(([seq, floor]) => ({ seq, floor }))) }
  }

  set(shares: readonly Share[], now: Instant): void {
    if (this.#floors.size === 0) this.#since = now
    this.#floors.clear()
    for (const { webhook } of shares) {
      const oldest = Math.min(webhook.firsts[0] ?? now, webhook.retries[0] ?? now)
      this.#floors.set(webhook.seq, Math.min(oldest, now - LATE_MS))
    }
  }
}

/** The deliveries of one webhook to claim. First attempts and retries are claimed separately. */
function sharesOf(webhook: DueWebhook, budget: ClaimBudget): Share[] {
  const { id, projectId } = webhook
  const candidate = { id, projectId, isHalfOpen: isHalfOpen(webhook) }
  const due = (times: readonly Instant[]) => times.map((dueAt) => ({ dueAt }))
  const { deliveries, retries } = budget.take(candidate, due(webhook.firsts), due(webhook.retries))
  const firsts = deliveries.length - retries
  return [
    { webhook, isRetry: false, count: firsts, floor: webhook.firsts[0] ?? 0 },
    { webhook, isRetry: true, count: retries, floor: webhook.retries[0] ?? 0 },
  ].filter(({ count }) => count > 0)
}

const isHalfOpen = ({ circuitUntil }: DueWebhook): boolean => circuitUntil !== null

async function claimShares(
  db: Queries,
  shares: readonly Share[],
  query: ClaimDue,
): Promise<ClaimedDelivery[]> {
  if (shares.length === 0) return []
  const ends = new Map(
    shares.map(({ webhook }) => [webhook.seq, leaseEnd(query, toWebhook(webhook))]),
  )
  const endOf = ({ seq }: DueWebhook): Instant => ends.get(seq) ?? query.until
  const asked = shares.map(({ webhook, isRetry, count, floor }) => ({
    receiverSeq: webhook.seq,
    isHalfOpen: isHalfOpen(webhook),
    isRetry,
    count,
    floor,
    until: endOf(webhook),
  }))
  const rows = await db.all(claimSql, { shares: jsonRows(asked), now: query.now })
  const webhooks = new Map(shares.map(({ webhook }) => [webhook.seq, webhook]))
  const rowsOf = new Map<number, ClaimedRow[]>([...webhooks.keys()].map((seq) => [seq, []]))
  for (const row of rows.sort((a, b) => a.wasDueAt - b.wasDueAt || a.seq - b.seq))
    rowsOf.get(row.receiverSeq)?.push(row)
  const ofHooks = rows.filter(({ webhookSeq, receiverSeq }) => webhookSeq !== receiverSeq)
  const hooks = await hooksBySeq(
    db,
    ofHooks.map(({ webhookSeq }) => webhookSeq),
  )
  return [...webhooks.values()].flatMap((row) => {
    // The webhook is as it was before the claim. The next claim shows a change in between.
    const until = endOf(row)
    const webhook = toWebhook(isHalfOpen(row) ? { ...row, circuitUntil: until } : row)
    return (rowsOf.get(row.seq) ?? []).flatMap((claimed) => {
      const { webhookSeq, eventId: id, event: name, body, trace } = claimed
      const hook = hooks.get(webhookSeq)
      // The sweep ends the deliveries of deleted hooks.
      if (webhookSeq !== row.seq && !hook) return []
      const receiver = hook ? { ...hook, health: webhook.health } : webhook
      return claimedDelivery(claimed, { id, name, body, ...toTrace(trace) }, receiver, until)
    })
  })
}
