import type { Agent, Instant, Webhook, WebhookDelivery } from '@org/agent-messaging-core'
import type { Child } from 'hono/jsx'
import { deliveriesPath } from './parts/filter.js'
import { holdsDeliveries } from './webhooks/held.js'
import { messagesPath } from './messages/message-table.js'
import type { Numbers } from './parts/numbers.js'
import { BASE } from './options.js'
import { span } from './parts/parts.js'

type Total = Numbers['total']

/** Each number links to the list that it counts. */
export const MessageTiles = ({
  total,
  since,
}: {
  readonly total: Total
  readonly since: Instant
}) => (
  <>
    <Tile
      name="Messages"
      value={total.messages}
      href={messagesPath({ from: since })}
      note={
        total.open.length === 0
          ? 'none waiting'
          : total.open.map(({ state, count }, at) => (
              <>
                {at > 0 && ', '}
                <a
                  href={state === 'input_required' ? `${BASE}/questions` : messagesPath({ state })}
                >
                  {count} {state}
                </a>
              </>
            ))
      }
    />
    <Tile
      name="Failed messages"
      value={total.failedMessages}
      href={messagesPath({ state: 'failed', from: since })}
      note={
        <a href={messagesPath({ state: 'cancelled', from: since })}>{total.cancelled} cancelled</a>
      }
      tone={total.failedMessages > 0 ? 'bad' : undefined}
    />
  </>
)

/** The most deliveries that the overview reads. */
export const MAX_OPEN = 100

type DeliveryTilesProps = {
  readonly total: Total
  /** The newest 100 pending deliveries. */
  readonly open: readonly WebhookDelivery[]
  readonly webhooks: readonly Webhook[]
  readonly since: Instant
  readonly now: Instant
}

export function DeliveryTiles({ total, open, webhooks, since, now }: DeliveryTilesProps) {
  const dueAt = open.flatMap(({ state }) => (state.kind === 'pending' ? [state.nextAttemptAt] : []))
  const oldest = Math.min(...dueAt)
  const isAll = open.length < MAX_OPEN
  const holding = new Set(
    webhooks.filter((webhook) => holdsDeliveries(webhook, now)).map(({ id }) => id),
  )
  const held = open.filter(({ webhookId }) => holding.has(webhookId)).length
  const rate =
    total.attempts === 0 ? '–' : `${((100 * total.failed) / total.attempts).toFixed(1)} %`
  return (
    <>
      <Tile
        name="Delivery attempts"
        value={total.attempts}
        href={deliveriesPath({ from: since })}
        note={
          <a href={deliveriesPath({ answer: '2xx', from: since })}>
            {total.attempts - total.failed} accepted
          </a>
        }
      />
      <Tile
        name="Error rate"
        value={rate}
        href="#codes"
        note={<a href={deliveriesPath({ answer: 'failed', from: since })}>{total.failed} failed</a>}
        tone={total.failed > 0 ? 'bad' : undefined}
      />
      <Tile
        name="Backlog"
        value={isAll ? open.length : `${MAX_OPEN}+`}
        note={backlogNote(open.length, oldest, now)}
        href={deliveriesPath({ status: 'pending' })}
      />
      <Tile
        name="Held"
        value={isAll ? held : `${held}+`}
        note={
          holding.size === 0 ? (
            'no webhook holds any'
          ) : (
            <a href={`${BASE}/webhooks?show=held`}>by {webhookCount(holding.size)}</a>
          )
        }
        href={deliveriesPath({ held: 'yes' })}
      />
    </>
  )
}

const webhookCount = (count: number): string => (count === 1 ? '1 webhook' : `${count} webhooks`)

export function AgentTile({ agents }: { readonly agents: readonly Agent[] }) {
  const running = agents.filter(({ state }) => state.kind === 'running').length
  const failing = agents.filter(({ state }) => state.kind === 'error').length
  return (
    <Tile
      name="Agents running"
      value={`${running} of ${agents.length}`}
      note={
        failing > 0 ? (
          <a href={`${BASE}/agents?state=error`}>{failing} in error</a>
        ) : (
          'none in error'
        )
      }
      tone={failing > 0 ? 'bad' : undefined}
      href={`${BASE}/agents`}
    />
  )
}

/** Describes the wait of the backlog. With 100 or more deliveries, `oldest` is only a bound. */
function backlogNote(count: number, oldest: Instant, now: Instant): string {
  const isAll = count < MAX_OPEN
  if (count === 0) return 'no deliveries waiting'
  if (oldest === Infinity) return 'being sent'
  return oldest <= now
    ? `oldest due for ${isAll ? '' : 'over '}${span(now - oldest)}`
    : `next due ${isAll ? 'in' : 'within'} ${span(oldest - now)}`
}

type TileProps = {
  readonly name: string
  readonly value: number | string
  readonly note: Child
  readonly tone?: 'bad' | undefined
  readonly href: string
}

const Tile = ({ name, value, note, tone, href }: TileProps) => (
  <div class={`tile card ${tone ?? ''}`}>
    <dt>{name}</dt>
    <dd class="value">
      <a href={href}>{typeof value === 'number' ? value.toLocaleString('en') : value}</a>
    </dd>
    <dd class="muted small">{note}</dd>
  </div>
)
