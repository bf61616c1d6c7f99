import { isPermitted, shownStory } from '@org/agent-messaging-core/host'
import { Hono } from 'hono'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { refIn } from '../path-id.js'
import { routesOf, shown } from '../route.js'
import { storySchema } from '../wire/story.js'

/** Says why a message or a delivery is where it is. */
export const storyRoutes = (d: HttpDeps) => {
  const { deliveries, messages } = d.service
  const answer = shown('The story', storySchema, shownStory)
  const ofMessage = routesOf(d, { tag: 'Messages' })
  const ofDelivery = routesOf(d, { tag: 'Deliveries' })
  return new Hono<Env>()
    .get(
      '/v1/messages/:id/story',
      ofMessage(
        {
          operationId: 'getMessageStory',
          call: 'messages.story',
          summary: 'Read why a message has no answer, or which receivers do not have it',
          description: 'The part about receivers needs `project:webhooks` or `project:read`.',
          refusals: ['message_not_found'],
          answer,
        },
        (c) =>
          messages.story({
            ...refIn(c, 'messageId'),
            withReceivers: isPermitted(c.get('requester').permissions, 'deliveries.story'),
          }),
      ),
    )
    .get(
      '/v1/deliveries/:id/story',
      ofDelivery(
        {
          operationId: 'getDeliveryStory',
          call: 'deliveries.story',
          summary: 'Read why a receiver does not have a delivery',
          refusals: ['delivery_not_found'],
          answer,
        },
        (c) => deliveries.story(refIn(c, 'deliveryId')),
      ),
    )
}
