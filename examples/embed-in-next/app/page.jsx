import { headers } from 'next/headers'
import { userOf } from '../lib/users.js'
import { Chat } from './chat.jsx'

export default async function Page() {
  const user = userOf((await headers()).get('cookie'))
  return user ? <Chat sessionId={`${user}/chat`} /> : <p>Please sign in.</p>
}
