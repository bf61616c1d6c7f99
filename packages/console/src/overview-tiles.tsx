import type { Activity, Agent, Instant, Webhook, WebhookDelivery } from '@org/agent-messaging-core'
import type { Child } from 'hono/jsx'
import { deliveriesPath } from './parts/filter.js'
import { holdsDeliveries } from './deliveries/delivery-table.js'
import { messagesPath } from './messages/message-table.js'
import type { Numbers } from './parts/numbers.js'
import { BASE } from './options.js'
import { span } from './parts/parts.js'

type Total = Numbers['total']

/** A number that links to the list that it counts. */
type Tile = {
  readonly name: string
  readonly value: number | string
  readonly note: Child
  readonly isBad?: boolean
  readonly href: string
}

export const Tiles = ({ tiles }: { readonly tiles: readonly Tile[] }) => (
  <dl class="tiles">
    {tiles.map(({ name, value, note, isBad = false, href }) => (
      <div class={`tile card ${isBad ? 'bad' : ''}`}>
        <dt>{name}</dt>
        <dd class="value">
          <a href={href}>{typeof value === 'number' ? value.toLocaleString('en') : value}</a>
        </dd>
        <dd class="muted small">{note}</dd>
      </div>
    ))}
  </dl>
)

export const messageTiles = (
  { messages, open, failedMessages, cancelled }: Total,
  since: Instant,
): readonly Tile[] => [
  {
    name: 'Messages',
    value: messages,
    href: messagesPath({ from: since }),
    note:
      open.length === 0
        ? 'none waiting'
        : open.map(({ name: state, count }, at) => (
            <>
              {at > 0 && ', '}
              <a href={state === 'input_required' ? `${BASE}/questions` : messagesPath({ state })}>
                {count} {state}
              </a>
            </>
          )),
  },
  {
    name: 'Failed messages',
    value: failedMessages,
    href: messagesPath({ state: 'failed', from: since }),
    note: <a href={messagesPath({ state: 'cancelled', from: since })}>{cancelled} cancelled</a>,
    isBad: failedMessages > 0,
  },
]

/** The most deliveries that the overview reads. */
export const MAX_OPEN = 100

type Deliveries = {
  /** The newest 100 pending deliveries. */
  readonly open: readonly WebhookDelivery[]
  readonly webhooks: readonly Webhook[]
  readonly activity: Pick<Activity, 'since' | 'now'>
}

export function deliveryTiles(
  { attempts, failed }: Total,
  { open, webhooks, activity: { since, now } }: Deliveries,
): readonly Tile[] {
  const dueAt = open.flatMap(({ state }) => (state.kind === 'pending' ? [state.nextAttemptAt] : []))
  const isAll = open.length < MAX_OPEN
  const holding = new Set(
    webhooks.filter((webhook) => holdsDeliveries(webhook, now)).map(({ id }) => id),
  )
  const held = open.filter(({ webhookId }) => holding.has(webhookId)).length
  return [
    {
      name: 'Delivery attempts',
      value: attempts,
      href: deliveriesPath({ from: since }),
      note: (
        <a href={deliveriesPath({ answer: '2xx', from: since })}>{attempts - failed} accepted</a>
      ),
    },
    {
      name: 'Error rate',
      value: attempts === 0 ? '–' : `${((100 * failed) / attempts).toFixed(1)} %`,
      href: '#codes',
      note: <a href={deliveriesPath({ answer: 'failed', from: since })}>{failed} failed</a>,
      isBad: failed > 0,
    },
    {
      name: 'Backlog',
      value: isAll ? open.length : `${MAX_OPEN}+`,
      note: backlogNote(open.length, Math.min(...dueAt), now),
      href: deliveriesPath({ status: 'pending' }),
    },
    {
      name: 'Held',
      value: isAll ? held : `${held}+`,
      note:
        holding.size === 0 ? (
          'no webhook holds any'
        ) : (
          <a href={`${BASE}/webhooks?show=held`}>
            by {holding.size === 1 ? '1 webhook' : `${holding.size} webhooks`}
          </a>
        ),
      href: deliveriesPath({ held: 'yes' }),
    },
  ]
}

export function agentTile(agents: readonly Agent[]): Tile {
  const count = (wanted: Agent['state']['kind']) =>
    agents.filter(({ state }) => state.kind === wanted).length
  const failing = count('error')
  return {
    name: 'Agents running',
    value: `${count('running')} of ${agents.length}`,
    note:
      failing > 0 ? <a href={`${BASE}/agents?state=error`}>{failing} in error</a> : 'none in error',
    isBad: failing > 0,
    href: `${BASE}/agents`,
  }
}

/** Describes the wait of the backlog. With 100 or more deliveries, `oldest` is only a bound. */
function backlogNote(count: number, oldest: Instant, now: Instant) {
  const isAll = count < MAX_OPEN
  if (count === 0) return 'no deliveries waiting'
  if (oldest === Infinity) return 'being sent'
  return oldest <= now
    ? `oldest due for ${isAll ? '' : 'over '}${span(now - oldest)}`
    : `next due ${isAll ? 'in' : 'within'} ${span(oldest - now)}`
}
