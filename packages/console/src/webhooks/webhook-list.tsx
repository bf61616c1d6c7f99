import { defaultLimits, type Activity, type Instant, type Webhook } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { ResultAsync } from 'neverthrow'
import type { ConsoleDeps, Env } from '../context.js'
import { deliveriesPath } from '../parts/filter.js'
import { holdsDeliveries } from './held.js'
import { show, showError } from '../parts/layout.js'
import { numbersOf, sumOf, type Numbers } from '../parts/numbers.js'
import { BASE } from '../options.js'
import { Command, Empty, pathOf, refreshed, Status, Time } from '../parts/parts.js'
import { NEW_WEBHOOK, WebhookForm, type WebhookDraft } from './webhook-form.js'
import { WebhookName } from './webhook-name.js'
import { healthOf } from '../parts/wording.js'

const A_DAY = { bucketMs: 3_600_000, buckets: 24 }

type Shown = {
  readonly name: string
  readonly text: string
  readonly matches: (webhook: Webhook, now: Instant) => boolean
}
const ALL: Shown = { name: 'all', text: 'All', matches: () => true }
const SHOWN: readonly Shown[] = [
  ALL,
  {
    name: 'bad',
    text: 'With failures',
    matches: (webhook, now) => healthOf(webhook, now).tone === 'bad',
  },
  { name: 'held', text: 'Holding deliveries', matches: holdsDeliveries },
]

export async function listPage(
  c: Context<Env>,
  { service, catcher }: ConsoleDeps,
  draft?: WebhookDraft,
) {
  const { projectId } = c.get('apiKey')
  const asked = SHOWN.find(({ name }) => name === c.req.query('show')) ?? ALL
  const found = await ResultAsync.combine([
    service.webhooks.list(projectId, { limit: defaultLimits.webhooksPerProject }),
    service.activity({ projectId, ...A_DAY }),
  ])
  if (found.isErr()) return showError(c, found.error)
  const [{ data: all }, activity] = found.value
  const numbers = numbersOf(activity, A_DAY)
  const data = all.filter((webhook) => asked.matches(webhook, service.now()))
  // A customer has no API key and no catcher.
  const isPortal = c.get('portal') !== undefined
  const hasCatcher = catcher !== undefined && !isPortal
  const origin = isPortal ? undefined : new URL(c.req.url).origin
  return show(
    c,
    { title: 'Webhooks', section: 'Webhooks', status: draft ? 400 : 200 },
    <>
      <h1>Webhooks</h1>
      <div class="columns">
        {all.length === 0 ? (
          <NoWebhooks hasCatcher={hasCatcher} origin={origin} />
        ) : (
          <div {...refreshed('live', 5_000, pathOf(c))}>
            <nav class="tabs" aria-label="Webhooks shown">
              {SHOWN.map(({ name, text, matches }) => (
                <a
                  href={`${BASE}/webhooks?show=${name}`}
                  aria-current={name === asked.name ? 'true' : undefined}
                >
                  {text} {all.filter((webhook) => matches(webhook, service.now())).length}
                </a>
              ))}
            </nav>
            <WebhookTable webhooks={data} numbers={numbers} activity={activity} />
          </div>
        )}
        <section class="card" aria-labelledby="create">
          <h2 id="create">Register a webhook</h2>
          <WebhookForm action={`${BASE}/webhooks`} draft={draft ?? NEW_WEBHOOK} button="Register" />
        </section>
      </div>
    </>,
  )
}

type TableProps = {
  readonly webhooks: readonly Webhook[]
  readonly numbers: Numbers
  readonly activity: Activity
}

const WebhookTable = ({ webhooks, numbers, activity }: TableProps) => (
  <div class="scroll card flush" role="region" aria-label="Webhooks" tabindex={0}>
    <table>
      <thead>
        <tr>
          <th scope="col">Webhook</th>
          <th scope="col">Health</th>
          <th scope="col">Attempts in 24 h</th>
        </tr>
      </thead>
      <tbody>
        {webhooks.map((webhook) => (
          <WebhookRow webhook={webhook} numbers={numbers} activity={activity} />
        ))}
      </tbody>
    </table>
  </div>
)

function WebhookRow({
  webhook,
  numbers,
  activity: { now, since },
}: Omit<TableProps, 'webhooks'> & { readonly webhook: Webhook }) {
  const { tone, text, reason } = healthOf(webhook, now)
  const { lastSuccessAt } = webhook.health
  const { good, bad } = numbers.ofWebhook(webhook.id)
  return (
    <tr>
      <th scope="row">
        <WebhookName webhook={webhook} />
        <div class="muted small">
          {webhook.events.includes('*') ? 'all events' : webhook.events.join(', ')}
        </div>
      </th>
      <td data-label="Health">
        <Status tone={tone}>{text}</Status>
        {reason !== undefined && <div class="muted small">{reason}</div>}
      </td>
      <td data-label="Attempts in 24 h">
        <a href={deliveriesPath({ webhook: webhook.id, answer: '2xx', from: since })}>
          {sumOf(good)} accepted
        </a>
        ,{' '}
        <a href={deliveriesPath({ webhook: webhook.id, answer: 'failed', from: since })}>
          {sumOf(bad)} failed
        </a>
        {lastSuccessAt !== undefined && (
          <div class="muted small">
            last accepted <Time at={lastSuccessAt} now={now} />
          </div>
        )}
      </td>
    </tr>
  )
}

const NoWebhooks = ({
  hasCatcher,
  origin,
}: {
  readonly hasCatcher: boolean
  /** For a request by an API key. */
  readonly origin: string | undefined
}) => (
  <Empty title="No webhooks yet">
    <p>
      A webhook sends signed events to your URL, such as each answer of an agent. Failed deliveries
      are retried.
    </p>
    {hasCatcher ? (
      <p>
        No receiver yet? <a href={`${BASE}/catcher`}>Use the catcher</a>, a built-in receiver that
        shows each request.
      </p>
    ) : null}
    {origin === undefined ? null : (
      <Command
        text={`curl ${origin}/v1/webhooks \\\n  -H "Authorization: Bearer $KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"url":"https://example.com/hooks","events":["*"]}'`}
      />
    )}
  </Empty>
)
