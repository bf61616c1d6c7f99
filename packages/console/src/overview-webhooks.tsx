import type { Instant, Webhook } from '@org/agent-messaging-core'
import { badFirst } from '@org/agent-messaging-core/host'
import { Sparkline, sumOf } from './parts/charts.js'
import { deliveriesPath } from './parts/filter.js'
import type { Numbers } from './parts/numbers.js'
import { Status, Card } from './parts/parts.js'
import { TableSection, type Column } from './parts/table.js'
import { useView } from './parts/zone.js'
import { healthOf, WebhookName } from './parts/wording.js'

type StatusCodesProps = Pick<Numbers, 'classes'> & { readonly since: Instant }

/** Shows the attempts by status code. A count links to deliveries with such a last answer. */
export function StatusCodes({ classes, since }: StatusCodesProps) {
  const max = Math.max(1, ...classes.map(({ count }) => count))
  const all = classes.reduce((sum, { count }) => sum + count, 0)
  return (
    <Card class="chart card" id="codes" title="Status codes">
      {classes.length === 0 ? (
        <p class="muted">No attempts in this period.</p>
      ) : (
        <table class="codes">
          <thead class="hidden">
            <tr>
              <th scope="col">Status code</th>
              <th scope="col">Share</th>
              <th scope="col">Attempts</th>
            </tr>
          </thead>
          <tbody>
            {classes.map(({ text, tone, count, answer }) => (
              <tr>
                <th scope="row">{text}</th>
                <td>
                  <svg
                    viewBox="0 0 100 10"
                    preserveAspectRatio="none"
                    role="img"
                    aria-label={`${Math.round((100 * count) / all)} %`}
                  >
                    <rect
                      class={tone}
                      width={Math.max(0.5, (100 * count) / max).toFixed(1)}
                      height="10"
                      rx="1"
                    />
                  </svg>
                </td>
                <td class="number">
                  <a href={deliveriesPath({ answer, from: since })}>{count.toLocaleString('en')}</a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  )
}

type WebhooksProps = {
  readonly webhooks: readonly Webhook[]
  readonly numbers: Numbers
  readonly since: Instant
}

export function Webhooks({ webhooks, numbers, since }: WebhooksProps) {
  const { now } = useView()
  if (webhooks.length === 0) return null
  const isBad = (webhook: Webhook) => healthOf(webhook, now).tone === 'bad'
  const counted = (answer: '2xx' | 'failed', tone: 'good' | 'bad'): Column<Webhook> => ({
    class: 'number',
    cell: ({ id: webhook }) => (
      <a href={deliveriesPath({ webhook, answer, from: since })}>
        {sumOf(numbers.ofWebhook(webhook)[tone])}
      </a>
    ),
  })
  return (
    <TableSection
      id="webhooks"
      title="Webhooks"
      rows={badFirst(webhooks, isBad, { limit: webhooks.length }).data}
      columns={{
        Webhook: (webhook) => <WebhookName webhook={webhook} />,
        Health: (webhook) => {
          const { tone, text } = healthOf(webhook, now)
          return <Status tone={tone} text={text} />
        },
        Attempts: ({ id }) => <Sparkline {...numbers.ofWebhook(id)} />,
        Accepted: counted('2xx', 'good'),
        Failed: counted('failed', 'bad'),
      }}
    />
  )
}
