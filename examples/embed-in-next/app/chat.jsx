'use client'
import { useEffect, useState } from 'react'

const MESSAGES = '/v1/agents/assistant/messages'

/** A conversation. A page that is opened again goes on with the answer that is being written. */
export function Chat({ sessionId }) {
  const [messages, setMessages] = useState([])
  const show = (id, change) =>
    setMessages((all) =>
      all.map((one) => (one.messageId === id ? { ...one, ...change(one) } : one)),
    )

  useEffect(() => {
    const newest = `${MESSAGES}?${new URLSearchParams({ sessionId, order: 'desc' })}`
    void ask(newest).then(({ data }) => setMessages(data.toReversed()))
  }, [sessionId])

  const open = messages.find(({ status }) => status === 'pending')?.messageId
  useEffect(() => (open === undefined ? undefined : follow(open, show)), [open])

  async function send(event) {
    event.preventDefault()
    const form = event.currentTarget
    const message = new FormData(form).get('message')
    form.reset()
    const sent = await ask(MESSAGES, {
      method: 'POST',
      headers: { 'content-type': 'application/json', prefer: 'respond-async' },
      body: JSON.stringify({ sessionId, message }),
    })
    setMessages((all) => [...all, { ...sent, message }])
  }

  return (
    <main>
      <ol>
        {messages.map(({ messageId, message, response, error }) => (
          <li key={messageId}>
            <p>You: {message}</p>
            <p>Agent: {response ?? error?.message ?? '…'}</p>
          </li>
        ))}
      </ol>
      <form onSubmit={(event) => void send(event)}>
        <input name="message" aria-label="Message" required autoComplete="off" />
        <button>Send</button>
      </form>
    </main>
  )
}

/** Shows the pieces of an answer. The browser connects again after a failure. */
function follow(id, show) {
  const stream = new EventSource(`${MESSAGES}/${id}/stream`)
  stream.addEventListener('chunk', ({ data }) => {
    const { offset, text } = JSON.parse(data)
    // Another attempt begins again at 0.
    show(id, ({ response }) => ({ response: (response ?? '').slice(0, offset) + text }))
  })
  stream.addEventListener('message', ({ data }) => {
    stream.close()
    show(id, () => JSON.parse(data)) // the whole answer: pieces can be missing
  })
  return () => stream.close()
}

async function ask(url, options) {
  const response = await fetch(url, options)
  const body = await response.json()
  if (!response.ok) throw new Error(body.error.message)
  return body
}
