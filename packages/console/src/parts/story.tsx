import { BASE } from '../context.js'
import type { Story, StoryCause, StoryPart } from '@org/agent-messaging-core/host'
import { Id, Time } from './parts.js'
import { shortTime, useView } from './zone.js'

const GOOD: readonly StoryCause[] = ['answered', 'delivered']
const BAD: readonly StoryCause[] = [
  'failed',
  'run_failed',
  'held_back',
  'undelivered',
  'exhausted',
  'disabled',
  'backing_off',
  'failing',
  'retrying',
]

/** Shows why a message or a delivery is where it is. */
export const StoryText = ({ story: { sentences } }: { readonly story: Story }) => (
  <div class="story card">
    {sentences.map(({ cause, parts }) => (
      <p class={BAD.includes(cause) ? 'bad' : GOOD.includes(cause) ? 'good' : 'busy'}>
        {parts.map((part) => (
          <Part {...part} />
        ))}
      </p>
    ))}
  </div>
)

function Part({ kind, text, id = '' }: StoryPart) {
  const { now, zone } = useView()
  switch (kind) {
    case 'time':
      return <Time at={Date.parse(text)} text={(at) => shortTime(at, now, zone)} />
    case 'words':
      return <bdi>{text}</bdi>
    case 'webhook':
      return (
        <a href={`${BASE}/webhooks/${id}`}>
          <bdi>{text}</bdi>
        </a>
      )
    case 'message':
    case 'delivery':
      return <Id id={id} href={`${BASE}/${kind === 'message' ? 'messages' : 'deliveries'}/${id}`} />
    case 'text':
      return <>{text}</>
  }
}
