import {
  EVENT_NAMES,
  type DeliveryDetail,
  type Instant,
  type Webhook,
} from '@org/agent-messaging-core'
import { DeliveryTable } from './delivery-table.js'
import { BASE } from './options.js'
import { Empty, Id, refreshed, Status, Time } from './parts.js'
import { healthOf } from './wording.js'

type WebhookPageProps = {
  readonly webhook: Webhook
  readonly deliveries: readonly DeliveryDetail[]
  readonly now: Instant
  readonly path: string
}

/** One webhook: how it is and why, what can be done with it, and what it was sent last. */
export function WebhookPage({ webhook, deliveries, now, path }: WebhookPageProps) {
  const { id, url } = webhook
  return (
    <>
      <p class="crumbs">
        <a href={`${BASE}/webhooks`}>Webhooks</a> / webhook
      </p>
      <h1 class="long">{url}</h1>
      <Actions webhook={webhook} now={now} />
      <div {...refreshed('live', 3_000, path)}>
        <Facts webhook={webhook} now={now} />
        <section class="card flush" aria-labelledby="recent">
          <h2 id="recent">
            Recent deliveries <a href={`${BASE}/deliveries?webhook=${id}`}>See all</a>
          </h2>
          <Deliveries webhook={webhook} deliveries={deliveries} now={now} />
        </section>
      </div>
      <section class="card" aria-labelledby="recover">
        <h2 id="recover">Recover</h2>
        <RecoverForm webhookId={id} />
      </section>
    </>
  )
}

function Actions({
  webhook: { id, status, previousSecret },
  now,
}: Pick<WebhookPageProps, 'webhook' | 'now'>) {
  const isEnabled = status.kind === 'enabled'
  const inGrace = previousSecret !== undefined && previousSecret.until > now
  const post = (action: string, words: string, style = '') => (
    <form method="post" action={`${BASE}/webhooks/${id}/${action}`}>
      <button class={style}>{words}</button>
    </form>
  )
  return (
    <div class="buttons">
      {isEnabled
        ? post('test', 'Send a test event', 'primary')
        : post('enable', 'Enable', 'primary')}
      {isEnabled && post('pause', 'Pause')}
      <a class="button" href={`${BASE}/webhooks/${id}/edit`}>
        Edit
      </a>
      {post('rotate', 'Rotate the secret')}
      {inGrace && post('finish', 'Finish the rotation')}
      <a class="button quiet" href={`${BASE}/webhooks/${id}/delete`}>
        Delete
      </a>
    </div>
  )
}

function Facts({ webhook, now }: Pick<WebhookPageProps, 'webhook' | 'now'>) {
  const {
    id,
    agentId,
    events,
    description,
    headers,
    disableOnGone,
    health,
    status,
    previousSecret,
    createdAt,
  } = webhook
  const { tone, words, why } = healthOf(webhook, now)
  return (
    <dl class="facts-list card">
      <dt>Health</dt>
      <dd>
        <Status tone={tone}>{words}</Status>{' '}
        {status.kind === 'disabled' && <Time at={status.at} now={now} />}
        {why !== undefined && <div class="muted">{why}</div>}
      </dd>
      {description !== undefined && (
        <>
          <dt>Description</dt>
          <dd>{description}</dd>
        </>
      )}
      <dt>Events</dt>
      <dd>{events.includes('*') ? 'all' : events.join(', ')}</dd>
      {agentId !== undefined && (
        <>
          <dt>Only of agent</dt>
          <dd>
            <Id id={agentId} />
          </dd>
        </>
      )}
      {headers && (
        <>
          <dt>Headers of its own</dt>
          <dd>{headers.names.join(', ')}</dd>
        </>
      )}
      {disableOnGone && (
        <>
          <dt>On 410 Gone</dt>
          <dd>it is disabled</dd>
        </>
      )}
      <dt>Last accepted</dt>
      <dd>
        {health.lastSuccessAt === undefined ? (
          'never'
        ) : (
          <Time at={health.lastSuccessAt} now={now} />
        )}
      </dd>
      <dt>Last failed</dt>
      <dd>
        {health.lastFailureAt === undefined ? (
          'never'
        ) : (
          <Time at={health.lastFailureAt} now={now} />
        )}
      </dd>
      {previousSecret && previousSecret.until > now && (
        <>
          <dt>Old secret</dt>
          <dd>
            signs too, for the last time <Time at={previousSecret.until} now={now} />
          </dd>
        </>
      )}
      <dt>Id</dt>
      <dd>
        <Id id={id} />
      </dd>
      <dt>Registered</dt>
      <dd>
        <Time at={createdAt} now={now} />
      </dd>
    </dl>
  )
}

function Deliveries({ webhook, deliveries, now }: Omit<WebhookPageProps, 'path'>) {
  if (deliveries.length === 0) {
    return (
      <Empty title="Nothing was sent yet">
        <p>Send a test event: it shows here at once, with what the receiver answered.</p>
      </Empty>
    )
  }
  return (
    <div class="scroll" role="group" aria-labelledby="recent" tabindex={0}>
      <DeliveryTable details={deliveries} webhooks={[webhook]} now={now} showsWebhook={false} />
    </div>
  )
}

const RecoverForm = ({ webhookId }: { readonly webhookId: string }) => (
  <form method="get" action={`${BASE}/webhooks/${webhookId}/recover`} class="filters">
    <p class="muted">
      Sends again what was given up, once the receiver is mended. First it says how many match.
    </p>
    <div>
      <label for="status">Status</label>
      <select id="status" name="status">
        <option value="exhausted">exhausted</option>
        <option value="cancelled">cancelled</option>
        <option value="pending">pending</option>
        <option value="delivered">delivered</option>
      </select>
    </div>
    <div>
      <label for="event">Event</label>
      <select id="event" name="event">
        <option value="">any</option>
        {[...EVENT_NAMES, 'webhook.test'].map((event) => (
          <option value={event}>{event}</option>
        ))}
      </select>
    </div>
    <button>Recover</button>
  </form>
)
