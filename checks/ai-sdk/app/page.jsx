'use client'
import { useChat } from '@ai-sdk/react'

export default function Page() {
  const { messages, sendMessage } = useChat({ id: 'chat-1', resume: true })
  const lines = messages.map(({ id, parts }) => <p key={id}>{parts.map(({ text }) => text)}</p>)
  const send = (form) => sendMessage({ text: form.get('text') })
  return <form action={send}>{[...lines, <input key="text" name="text" />]}</form>
}
