# SPDX-License-Identifier: BSD-2-Clause
# maps_file FILE, a 32-bit program: maps the file from `page` on, which has the functions, writes `ready`, and waits for the end of
# its input. It needs no library, so no 32-bit compiler either.
	.globl _start
_start:	mov $5, %eax		# open
	mov 8(%esp), %ebx
	xor %ecx, %ecx
	int $0x80
	mov %eax, %edi
	mov $page, %ebp
	mov $192, %eax		# mmap2, private, readable and executable
	xor %ebx, %ebx
	mov $0x100000, %ecx
	mov $5, %edx
	mov $2, %esi
	int $0x80
	cmp $0xfffff000, %eax
	ja end
	mov $4, %eax		# write
	mov $1, %ebx
	mov $ready, %ecx
	mov $6, %edx
	int $0x80
more:	mov $3, %eax		# read
	xor %ebx, %ebx
	mov $byte, %ecx
	mov $1, %edx
	int $0x80
	test %eax, %eax
	jg more
end:	mov $1, %eax		# exit
	xor %ebx, %ebx
	int $0x80
	.data
ready:	.ascii "ready\n"
byte:	.byte 0
