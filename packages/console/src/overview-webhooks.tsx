import type { Instant, Webhook } from '@org/agent-messaging-core'
import { Sparkline } from './parts/charts.js'
import { deliveriesPath } from './parts/filter.js'
import { sumOf, type Numbers } from './parts/numbers.js'
import { Status } from './parts/parts.js'
import { WebhookName } from './webhooks/webhook-name.js'
import { healthOf } from './parts/wording.js'

type StatusCodesProps = Pick<Numbers, 'codes'> & { readonly since: Instant }

/** Shows the attempts by status code. A count links to deliveries with such a last answer. */
export function StatusCodes({ codes, since }: StatusCodesProps) {
  const max = Math.max(1, ...codes.map(({ count }) => count))
  const all = codes.reduce((sum, { count }) => sum + count, 0)
  return (
    <section class="chart card" aria-labelledby="codes">
      <h2 id="codes">Status codes</h2>
      {codes.length === 0 ? (
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
            {codes.map(({ text, tone, count, answer }) => (
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
    </section>
  )
}

type WebhooksProps = {
  readonly webhooks: readonly Webhook[]
  readonly numbers: Numbers
  readonly since: Instant
  readonly now: Instant
}

export function Webhooks({ webhooks, numbers, since, now }: WebhooksProps) {
  if (webhooks.length === 0) return null
  return (
    <section class="card flush" aria-labelledby="webhooks">
      <h2 id="webhooks">Webhooks</h2>
      <div class="scroll" role="group" aria-labelledby="webhooks" tabindex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Webhook</th>
              <th scope="col">Health</th>
              <th scope="col">Attempts</th>
              <th scope="col" class="number">
                Accepted
              </th>
              <th scope="col" class="number">
                Failed
              </th>
            </tr>
          </thead>
          <tbody>
            {webhooks.map((webhook) => (
              <WebhookRow webhook={webhook} numbers={numbers} since={since} now={now} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

type RowProps = Omit<WebhooksProps, 'webhooks'> & { readonly webhook: Webhook }

function WebhookRow({ webhook, numbers, since, now }: RowProps) {
  const { good, bad } = numbers.ofWebhook(webhook.id)
  const { tone, text } = healthOf(webhook, now)
  const accepted = deliveriesPath({ webhook: webhook.id, answer: '2xx', from: since })
  return (
    <tr>
      <th scope="row">
        <WebhookName webhook={webhook} />
      </th>
      <td data-label="Health">
        <Status tone={tone}>{text}</Status>
      </td>
      <td data-label="Attempts">
        <Sparkline good={good} bad={bad} />
      </td>
      <td class="number" data-label="Accepted">
        <a href={accepted}>{sumOf(good)}</a>
      </td>
      <td class="number" data-label="Failed">
        <a href={deliveriesPath({ webhook: webhook.id, answer: 'failed', from: since })}>
          {sumOf(bad)}
        </a>
      </td>
    </tr>
  )
}
