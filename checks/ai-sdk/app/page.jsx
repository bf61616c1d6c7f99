'use client'
import { useChat } from '@ai-sdk/react'
import { useEffect } from 'react'

export default function Page() {
  const { messages, sendMessage, setMessages, resumeStream } = useChat({ id: 'chat-1' })
  const load = async () => setMessages(await (await fetch('/api/chat/chat-1/messages')).json())
  useEffect(() => void load().then(() => resumeStream()), [])
  const lines = messages.map(({ id, parts }) => <p key={id}>{parts.map(({ text }) => text)}</p>)
  const send = (form) => sendMessage({ text: form.get('text') })
  return <form action={send}>{[...lines, <input key="text" name="text" />]}</form>
}
