// The page of a chat in a browser. Its address names the thread.
import { ThreadAgent } from './thread-agent.mjs'

const threadId = location.hash.slice(1)
const agent = new ThreadAgent({ url: `${location.origin}/ag-ui/v1/gated`, threadId })

agent.subscribe({
  onMessagesChanged: ({ messages }) =>
    document.body.replaceChildren(
      ...messages.map(({ role, content }) =>
        Object.assign(document.createElement('p'), {
          textContent: `${role}: ${typeof content === 'string' ? content : ''}`,
        }),
      ),
    ),
  onRunFinalized: () => document.body.append('The run is over.'),
})
window.send = (content) => {
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
  void agent.runAgent()
}
void agent.connectAgent()
