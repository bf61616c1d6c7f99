import type { Webhook } from '@org/agent-messaging-core'
import { BASE } from '../options.js'

/** Links to a webhook by its description, with the URL below. Without a description by its URL. */
export const WebhookName = ({
  webhook: { id, url, description },
}: {
  readonly webhook: Pick<Webhook, 'id' | 'url' | 'description'>
}) =>
  description === undefined ? (
    <a class="url" href={`${BASE}/webhooks/${id}`}>
      {url}
    </a>
  ) : (
    <span class="named">
      <a href={`${BASE}/webhooks/${id}`}>{description}</a>
      <span class="url muted small">{url}</span>
    </span>
  )

/** The name of a webhook where only plain text fits. */
export const webhookLabel = ({ url, description }: Pick<Webhook, 'url' | 'description'>): string =>
  description === undefined ? url : `${description} (${url})`
