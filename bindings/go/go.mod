module proftrace

go 1.19
