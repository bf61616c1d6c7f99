import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import { useEffect } from 'react'

/** Loads the messages before the chat is shown: `<Chat {...await open({ api, id, token })} />`. */
export async function open({ api, id, token }) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const ask = (path, init) => fetch(`${api}/${encodeURIComponent(id)}${path}`, { headers, ...init })
  const load = async () => {
    const response = await ask('/messages')
    if (!response.ok) throw new Error(await response.text())
    return response.json()
  }
  const transport = new DefaultChatTransport({
    api,
    headers,
    // The service has the earlier messages.
    prepareSendMessagesRequest: ({ id, messages, trigger }) => ({
      body: { id, trigger, message: messages.at(-1) },
    }),
  })
  return { id, ask, load, transport, messages: await load() }
}

/** True if the agent continues without the stream. A refused request never succeeds later. */
const continues = ({ name, message }) =>
  name === 'TypeError' || ['ANSWER_SUPERSEDED', 'STREAM_INTERRUPTED'].includes(message)

export function Chat({ ask, load, ...init }) {
  const onError = (error) => continues(error) && setTimeout(() => void goOn(), 1_000)
  const chat = useChat({ ...init, onError })
  /** Streams the open answer from its start. An answer can come before the stream is open. */
  async function goOn() {
    await chat.resumeStream()
    await load().then(chat.setMessages, () => {})
  }
  useEffect(() => void goOn(), [])
  const post = (path, body) => ask(path, { method: 'POST', body: JSON.stringify(body) })
  const answer = async (inputId, value) => {
    await post('/answer', { inputId, value })
    await goOn()
  }
  return (
    <form action={(form) => chat.sendMessage({ text: form.get('text') })}>
      {chat.messages.map(({ id, role, parts }) => (
        <p key={id}>
          {role}: {parts.map((part, n) => Part(part, n, answer))}
        </p>
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <input name="text" aria-label="Message" />
      <button>Send</button>
      {chat.status === 'streaming' && (
        <button type="button" onClick={() => post('/stop', {})}>
          Stop
        </button>
      )}
    </form>
  )
}

function Part({ type, text, toolName, state, data }, key, answer) {
  if (type === 'text') return <span key={key}>{text}</span>
  if (type === 'dynamic-tool') return <code key={key}>{`${toolName} ${state}`}</code>
  if (type === 'data-error') return <em key={key}>{data.message}</em>
  if (type !== 'data-question') return null
  const choice = (value) => (
    <button type="button" key={value} onClick={() => answer(data.id, value)}>
      {value}
    </button>
  )
  return (
    <em key={key}>
      {data.question} {data.answer ? data.answer.value : data.options?.map(choice)}
    </em>
  )
}
