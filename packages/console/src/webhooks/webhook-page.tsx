import {
  type DeliveryDetail,
  type Instant,
  type Webhook,
  type WebhookFilter,
  type WebhookLimit,
} from '@org/agent-messaging-core'
import { webhookSettings } from '@org/agent-messaging-core/runtime'
import type { Child } from 'hono/jsx'
import { DeliveryTable } from '../deliveries/delivery-table.js'
import { BASE } from '../options.js'
import { Empty, Id, refreshed, Status, Time, WholeId } from '../parts/parts.js'
import { textsOf, titleOf } from './setting-fields.js'
import { ActivitySections, type WebhookActivity } from './webhook-activity.js'
import { healthOf, limitText } from '../parts/wording.js'

type WebhookPageProps = {
  readonly webhook: Webhook
  readonly limit: WebhookLimit
  readonly deliveries: readonly DeliveryDetail[]
  readonly recent: WebhookActivity
  readonly now: Instant
  readonly path: string
}

/** Shows a webhook: its health, actions, settings, attempts, and recent deliveries. */
export function WebhookPage({ webhook, limit, deliveries, recent, now, path }: WebhookPageProps) {
  const { id, url, description } = webhook
  return (
    <>
      <p class="crumbs">
        <a href={`${BASE}/webhooks`}>Webhooks</a> / webhook
      </p>
      <h1 class="long">{description ?? url}</h1>
      <Actions webhook={webhook} now={now} />
      <div {...refreshed('live', 5_000, path)}>
        <Facts webhook={webhook} limit={limit} now={now} />
        <ActivitySections webhook={webhook} {...recent} now={now} />
        <section class="card flush" aria-labelledby="recent">
          <h2 id="recent">
            Recent deliveries <a href={`${BASE}/deliveries?webhook=${id}`}>Show all</a>
          </h2>
          <Deliveries webhook={webhook} deliveries={deliveries} now={now} />
        </section>
      </div>
    </>
  )
}

function Actions({
  webhook: { id, status, isPaused, previousSecret },
  now,
}: Pick<WebhookPageProps, 'webhook' | 'now'>) {
  const isEnabled = status.kind === 'enabled'
  const isRotating = previousSecret !== undefined && previousSecret.until > now
  const post = (action: string, label: string, style = '') => (
    <form method="post" action={`${BASE}/webhooks/${id}/${action}`}>
      <button class={style}>{label}</button>
    </form>
  )
  const ask = (action: string, label: string, style = '') => (
    <a class={`button ${style}`} href={`${BASE}/webhooks/${id}/${action}`}>
      {label}
    </a>
  )
  return (
    <div class="buttons">
      {isEnabled ? post('test', 'Send test event', 'primary') : post('enable', 'Enable', 'primary')}
      {isPaused ? post('resume', 'Resume') : post('pause', 'Pause')}
      {isEnabled && ask('disable', 'Disable')}
      <a class="button" href={`${BASE}/webhooks/${id}/edit`}>
        Edit
      </a>
      {ask('rotate', 'Rotate secret')}
      {isRotating && post('finish', 'Finish rotation')}
      <a class="button" href={`${BASE}/recover?webhook=${id}`}>
        Recover
      </a>
      {ask('delete', 'Delete', 'quiet')}
    </div>
  )
}

function Facts({ webhook, limit, now }: Pick<WebhookPageProps, 'webhook' | 'limit' | 'now'>) {
  const { id, health, status, previousSecret, createdAt } = webhook
  const { tone, text, reason } = healthOf(webhook, now)
  return (
    <dl class="facts-list card">
      <Fact name="Health">
        <Status tone={tone}>{text}</Status>{' '}
        {status.kind === 'disabled' && <Time at={status.at} now={now} />}
        {reason !== undefined && <div class="muted">{reason}</div>}
      </Fact>
      <Fact name="Limit now">{limitText(limit)}</Fact>
      <SettingFacts webhook={webhook} />
      <Fact name="Last accepted">
        <TimeOrNever at={health.lastSuccessAt} now={now} />
      </Fact>
      <Fact name="Last failed">
        <TimeOrNever at={health.lastFailureAt} now={now} />
      </Fact>
      {previousSecret && previousSecret.until > now && (
        <Fact name="Old secret">
          signs too, expires <Time at={previousSecret.until} now={now} />
        </Fact>
      )}
      <Fact name="ID">
        <WholeId id={id} />
      </Fact>
      <Fact name="Registered">
        <Time at={createdAt} now={now} />
      </Fact>
    </dl>
  )
}

const SettingFacts = ({ webhook }: Pick<WebhookPageProps, 'webhook'>) => {
  const { filter, url, events, description, headers, sending } = webhook
  const texts = textsOf(others, { ...webhook, ...sending })
  return (
    <>
      {description !== undefined && (
        <Fact name="URL">
          <span class="url">{url}</span>
        </Fact>
      )}
      <Fact name="Events">{events.includes('*') ? 'all' : events.join(', ')}</Fact>
      {filter && <FilterFacts {...filter} />}
      {headers && <Fact name="Custom headers">{headers.names.join(', ')}</Fact>}
      {Object.entries(others).map(
        ([name, setting]) => texts[name] && <Fact name={titleOf(setting)}>{texts[name]}</Fact>,
      )}
    </>
  )
}

/** The title of the page is the description. */
const { description: _, ...others } = webhookSettings

const FilterFacts = ({ agentId, sessionIdPrefix, metadata = [] }: WebhookFilter) => (
  <>
    {agentId !== undefined && (
      <Fact name="Agent">
        <Id id={agentId} />
      </Fact>
    )}
    {sessionIdPrefix !== undefined && (
      <Fact name="Sessions">
        start with <code>{sessionIdPrefix}</code>
      </Fact>
    )}
    {metadata.length > 0 && (
      <Fact name="Metadata">
        {metadata.map((condition) => (
          <div>
            <code>{condition.path}</code>{' '}
            {'equals' in condition ? (
              <>
                is <code>{JSON.stringify(condition.equals)}</code>
              </>
            ) : condition.exists ? (
              'exists'
            ) : (
              'does not exist'
            )}
          </div>
        ))}
      </Fact>
    )}
  </>
)

const Fact = ({ name, children }: { readonly name: string; readonly children: Child }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
)

type TimeOrNeverProps = { readonly at: Instant | undefined; readonly now: Instant }

const TimeOrNever = ({ at, now }: TimeOrNeverProps) =>
  at === undefined ? <>never</> : <Time at={at} now={now} />

function Deliveries({
  webhook,
  deliveries,
  now,
}: Pick<WebhookPageProps, 'webhook' | 'deliveries' | 'now'>) {
  if (deliveries.length === 0) {
    return (
      <Empty title="No deliveries yet">
        <p>Send a test event to see it here with the answer of the receiver.</p>
      </Empty>
    )
  }
  return (
    <div class="scroll" role="group" aria-labelledby="recent" tabindex={0}>
      <DeliveryTable details={deliveries} webhooks={[webhook]} now={now} showsWebhook={false} />
    </div>
  )
}
