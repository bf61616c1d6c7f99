'use client'
import { useState } from 'react'

// Each tab is a session of the service. To keep a conversation, store this id.
const newSession = () => crypto.randomUUID()

export default function Chat() {
  const [sessionId] = useState(newSession)
  const [turns, setTurns] = useState([])
  const [isBusy, setBusy] = useState(false)

  const showLast = (answer) =>
    setTurns((turns) => [...turns.slice(0, -1), { ...turns.at(-1), answer }])

  async function send(event) {
    event.preventDefault()
    const form = event.currentTarget
    const message = new FormData(form).get('message')
    form.reset()
    setBusy(true)
    setTurns((turns) => [...turns, { message, answer: '' }])
    try {
      await ask({ sessionId, message }, showLast)
    } catch (error) {
      showLast(`No answer: ${error.message}`)
    }
    setBusy(false)
  }

  return (
    <main>
      <ol>
        {turns.map(({ message, answer }, n) => (
          <li key={n}>
            <p>You: {message}</p>
            <p>Agent: {answer}</p>
          </li>
        ))}
      </ol>
      <form onSubmit={send}>
        <input name="message" aria-label="Message" required autoComplete="off" />
        <button disabled={isBusy}>Send</button>
      </form>
    </main>
  )
}

/** Sends a message. Calls `show` with the answer so far, for each piece. */
async function ask(message, show) {
  const response = await fetch('/api/chat', { method: 'POST', body: JSON.stringify(message) })
  if (!response.ok) throw new Error(await response.text())
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let answer = ''
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    answer += next.value
    show(answer)
  }
}
